package attime

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// unset marks the hour and the year while it is unknown whether a number is a time of day or a
// date. A date without a year keeps the mark and means the year 30000, as in rrdtool.
const unset = 30000

// lastSecond is the end of the last year that fits in 32 bits. For later times rrdtool returns a
// meaningless second.
const lastSecond = 67767976233532799 - 86400

// Instant reads a single time and returns it in seconds since 1970.
func Instant(spec string, now time.Time) (int64, error) { return NewReader(now).Instant(spec) }

// ParsePair reads the two ends of a range and returns them in seconds since 1970. One of them may
// be relative to the other.
func ParsePair(start, end string, now time.Time) (from, to int64, err error) {
	r := NewRange(now)
	if err := r.Set("start", start); err != nil {
		return 0, 0, err
	}
	if err := r.Set("end", end); err != nil {
		return 0, 0, err
	}
	return r.Resolve()
}

// A parser reads a time.
type parser struct {
	scanner
	Time
	loc   *time.Location
	minus bool    // the current sign is minus
	unit  tokenID // the last unit behind that sign
	far   bool    // the time is after lastSecond
}

// parse reads the reference, the offsets and the end.
func (p *parser) parse() error {
	p.next()
	var err error
	switch id := p.id; {
	case id == tokPlus || id == tokMinus: // from now
	case id == tokStart || id == tokEnd || id == tokEpoch:
		err = p.relative()
	case id == tokNow:
		p.next()
		if p.id != tokEOF && p.id != tokPlus && p.id != tokMinus {
			err = errors.New("if 'now' is followed by a token it must be +|- offset")
		}
	case id == tokNumber:
		err = p.numeric()
	case id >= tokJanuary && id < tokSunday:
		if err = p.day(); err == nil && p.id == tokNumber {
			err = p.clock()
		}
	case id == tokNoon || id == tokMidnight || id == tokTeatime:
		p.f.Hour, p.f.Minute, p.f.Second = map[tokenID]int32{tokNoon: 12, tokTeatime: 16}[id], 0, 0
		p.next()
		err = p.day()
	default:
		return fmt.Errorf("unparsable time: %s", p.rest())
	}
	if err != nil {
		return err
	}
	if p.id == tokPlus || p.id == tokMinus {
		if err := p.offsets(); err != nil {
			return err
		}
	}
	if p.id != tokEOF {
		return fmt.Errorf("unparsable trailing text: '...%s'", p.rest())
	}
	return nil
}

// relative reads start, end or epoch. The epoch is an absolute time with all fields zero, which is
// the last day of 1899.
func (p *parser) relative() error {
	switch p.id {
	case tokStart:
		p.Relation = ToStart
	case tokEnd:
		p.Relation = ToEnd
	}
	p.f = Fields{DST: -1}
	p.next()
	if p.id != tokPlus && p.id != tokMinus {
		return errors.New("'start' or 'end' MUST be followed by +|- offset")
	}
	return nil
}

// numeric reads a reference that begins with a number: a time of day and a date in either order, or
// seconds since 1970.
func (p *parser) numeric() error {
	year := p.f.Year
	p.f.Hour, p.f.Year = unset, unset
	if err := p.clock(); err != nil {
		return err
	}
	if err := p.day(); err != nil {
		return err
	}
	if p.f.Hour == unset {
		if err := p.clock(); err != nil {
			return err
		}
	}
	if p.f.Hour == unset {
		p.f.Hour, p.f.Minute, p.f.Second = 0, 0, 0
	}
	if p.f.Year == unset {
		p.f.Year = year
	}
	return nil
}

// clock reads a time of day, if there is one. Any token of one or two bytes is read as the hour; a
// word is 0. If it is not a time of day after all, the token stays, in the form of the number,
// which errors then quote.
func (p *parser) clock() error {
	if len(p.tok) > 2 {
		return nil
	}
	back := p.scanner
	hour, minute := int32(number(p.tok)), int32(0)
	p.next()
	if p.id == tokSlash || p.id == tokDot { // a date
		p.scanner = back
		p.tok = strconv.Itoa(int(hour))
		return nil
	}
	if p.id == tokColon {
		p.next()
		if p.id != tokNumber {
			return errors.New("Parsing HH:MM syntax, expecting MM as number, got none")
		}
		minute = int32(number(p.tok))
		if minute > 59 {
			return fmt.Errorf("parsing HH:MM syntax, got MM = %d (>59!)", minute)
		}
		p.next()
	}
	switch {
	case p.id == tokAM || p.id == tokPM:
		if hour > 12 {
			return errors.New("there cannot be more than 12 AM or PM hours")
		}
		if p.id == tokPM && hour != 12 {
			hour += 12
		}
		if p.id == tokAM && hour == 12 {
			hour = 0
		}
		p.next()
	case hour > 23: // not a time of day
		p.scanner = back
		p.tok = strconv.Itoa(int(hour))
		return nil
	}
	p.f.Hour, p.f.Minute, p.f.Second = hour, minute, 0
	return nil
}

// day reads a day, if there is one.
func (p *parser) day() error {
	switch id := p.id; {
	case id == tokYesterday:
		p.f.Day--
		p.next()
	case id == tokToday:
		p.next()
	case id == tokTomorrow:
		p.f.Day++
		p.next()
	case id >= tokJanuary && id < tokSunday:
		return p.month(int32(id - tokJanuary))
	case id >= tokSunday:
		p.f.Day += int32(id-tokSunday) - p.f.Weekday
		p.next()
	case id == tokNumber:
		return p.date()
	}
	return nil
}

// month reads a day and an optional year behind the name of a month.
func (p *parser) month(mon int32) error {
	p.next()
	if p.id != tokNumber {
		return errors.New("the day of the month should follow month name")
	}
	mday := number(p.tok)
	year := int64(p.f.Year)
	p.next()
	if p.id == tokNumber {
		year = number(p.tok)
		p.next()
	}
	return p.setDate(year, mon, int32(mday))
}

// date reads a date of numbers, MM/DD[/YY], DD.MM[.YY] or YYYYMMDD, or seconds since 1970.
func (p *parser) date() error {
	tok := p.tok
	mon, mday, year := number(tok), int64(0), int64(p.f.Year)
	p.next()
	switch {
	case mon > 10*365*24*60*60: // later than about 1980: seconds
		if mon > lastSecond {
			p.far, mon = true, lastSecond
		}
		p.f = Local(mon, p.loc)
		return nil
	case mon > 19700101 && mon < 24000101:
		year, mon, mday = number(tok[:4]), number(tok[4:6]), number(tok[6:8])
	case mon <= 31 && (p.id == tokSlash || p.id == tokDot):
		sep, what := p.id, "day"
		if sep == tokDot {
			what = "month"
		}
		sign := p.tok
		p.next()
		if p.id != tokNumber {
			return fmt.Errorf("there should be %s number after '%s'", what, sign)
		}
		mday = number(p.tok)
		p.next()
		if p.id == sep {
			p.next()
			if p.id != tokNumber {
				return fmt.Errorf("there should be year number after '%s'", sign)
			}
			year = number(p.tok)
			p.next()
		}
		if sep == tokDot {
			mon, mday = mday, mon
		}
	}
	if mon < 1 || mon > 12 {
		return fmt.Errorf("did you really mean month %d?", int32(mon))
	}
	if mday < 1 || mday > 31 {
		return fmt.Errorf("I'm afraid that %d is not a valid day of the month", int32(mday))
	}
	return p.setDate(year, int32(mon)-1, int32(mday))
}

// setDate sets the date. A year is given in full, as two digits for 1970 to 2037, or as years since
// 1900. The present year, if none is given, arrives here as years since 1900; so from 2039 on
// rrdtool needs the year written out.
func (p *parser) setDate(year int64, mon, mday int32) error {
	if year > 138 {
		if year <= 1970 {
			return fmt.Errorf("invalid year %d (should be either 00-99 or >1900)", int32(year))
		}
		year -= 1900
	} else if year >= 0 && year < 38 {
		year += 100
	}
	if year < 70 {
		return errors.New("won't handle dates before epoch (01/01/1970), sorry")
	}
	p.f.Year, p.f.Month, p.f.Day = int32(year), mon, mday
	return nil
}

// offsets reads signs and numbers with units, up to a token that is neither.
func (p *parser) offsets() error {
	p.table = units
	p.unit = tokEOF
	for p.id == tokPlus || p.id == tokMinus || p.id == tokNumber {
		if p.id != tokNumber {
			sign := "+"
			if p.minus, p.unit = p.id == tokMinus, tokEOF; p.minus {
				sign = "-"
			}
			p.next()
			if p.id != tokNumber {
				return fmt.Errorf("There should be number after '%s'", sign)
			}
		}
		n := int32(number(p.tok))
		p.next()
		p.add(n, p.id)
		p.next()
	}
	return nil
}

// add adds n units with the current sign. The unit m means months after days, weeks, months and
// years, and minutes after hours and shorter units. Alone, it means minutes for 6 or more, and
// months for less, and so it does behind a word that is no unit. That word is ignored, and its
// number counts seconds.
func (p *parser) add(n int32, unit tokenID) {
	if unit == tokMonthOrMinute {
		switch p.unit {
		case tokDay, tokWeek, tokMonth, tokYear:
			unit = tokMonth
		case tokSecond, tokMinute, tokHour:
			unit = tokMinute
		default:
			unit = tokMinute
			if n < 6 {
				unit = tokMonth
			}
		}
	}
	p.unit = unit
	if p.minus {
		n = -n
	}
	switch unit {
	case tokYear:
		p.f.Year += n
	case tokMonth:
		p.f.Month += n
	case tokWeek:
		p.f.Day += n * 7
	case tokDay:
		p.f.Day += n
	case tokHour:
		p.offset += int64(n * 3600)
	case tokMinute:
		p.offset += int64(n * 60)
	default:
		p.offset += int64(n)
	}
}
