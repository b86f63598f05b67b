package attime

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Relation says what a [Time] counts from.
type Relation int

// What a time counts from.
const (
	Absolute Relation = iota
	ToStart           // start+1d: the start of the range
	ToEnd             // end-1d: the end of the range
)

// A Time is one end of a range, parsed but not yet resolved: it may count from
// the other end.
type Time struct {
	// Relation says what the time counts from.
	Relation Relation

	f      fields // of a relation: what is added to the other end's fields
	offset int64  // seconds on the clock, added last
	loc    *time.Location
}

// unset marks the hour and the year of a number that has yet to turn out to be
// a time of day or a date. A date without a year keeps the mark, and lands in
// the year 30000, as it does with rrdtool.
const unset = 30000

// lastSecond ends the last year that fits 32 bits. rrdtool gives a second of no
// meaning for later ones.
const lastSecond = 67767976233532799 - 86400

var errRange = errors.New("the specified time is incorrect (out of range?)")

// Parse reads spec. What it leaves out is taken from now, in now's location.
func Parse(spec string, now time.Time) (Time, error) {
	p := parser{scanner: scanner{spec: spec, table: words}}
	p.loc = now.Location()
	p.f = local(now.Unix(), p.loc)
	p.f.dst = -1
	if err := p.parse(); err != nil {
		return Time{}, err
	}
	if p.far || p.Relation == Absolute && p.f.second(p.loc) == -1 {
		return Time{}, errRange
	}
	return p.Time, nil
}

// Instant reads a time that stands alone.
func Instant(spec string, now time.Time) (int64, error) {
	t, err := Parse(spec, now)
	if err != nil {
		return 0, err
	}
	if t.Relation != Absolute {
		return 0, ErrRelative
	}
	return t.Unix(), nil
}

// ErrRelative says that a time which stands alone was given relative to start or end.
var ErrRelative = errors.New("specifying time relative to the 'start' or 'end' makes no sense here")

// ParsePair reads the two ends of a range, seconds since 1970, of which one may
// be relative to the other.
func ParsePair(start, end string, now time.Time) (from, to int64, err error) {
	s, err := Parse(start, now)
	if err != nil {
		return 0, 0, fmt.Errorf("start time: %w", err)
	}
	e, err := Parse(end, now)
	if err != nil {
		return 0, 0, fmt.Errorf("end time: %w", err)
	}
	return Resolve(s, e)
}

// Resolve returns the seconds of the two ends of a range.
func Resolve(start, end Time) (from, to int64, err error) {
	switch {
	case start.Relation == ToEnd && end.Relation == ToStart:
		return 0, 0, errors.New("the start and end times cannot be specified relative to each other")
	case start.Relation == ToStart:
		return 0, 0, errors.New("the start time cannot be specified relative to itself")
	case end.Relation == ToEnd:
		return 0, 0, errors.New("the end time cannot be specified relative to itself")
	case start.Relation == ToEnd:
		to = end.Unix()
		return start.from(to), to, nil
	case end.Relation == ToStart:
		from = start.Unix()
		return from, end.from(from), nil
	}
	return start.Unix(), end.Unix(), nil
}

// Unix returns the second of an absolute time.
func (t Time) Unix() int64 { return t.f.second(t.loc) + t.offset }

// from returns the second of t counted from the second base.
func (t Time) from(base int64) int64 {
	f := local(base, t.loc)
	f.year += t.f.year
	f.mon += t.f.mon
	f.mday += t.f.mday
	f.hour += t.f.hour
	f.min += t.f.min
	f.sec += t.f.sec
	return f.second(t.loc) + t.offset
}

type parser struct {
	scanner
	Time
	minus bool    // the sign in force
	unit  tokenID // the last unit under that sign
	far   bool    // seconds past lastSecond were given
}

// parse reads reference, offsets and the end.
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
		p.f.hour, p.f.min, p.f.sec = map[tokenID]int32{tokNoon: 12, tokTeatime: 16}[id], 0, 0
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

// relative reads start, end or epoch. The epoch is an absolute time whose
// fields are all zero: the last day of 1899.
func (p *parser) relative() error {
	switch p.id {
	case tokStart:
		p.Relation = ToStart
	case tokEnd:
		p.Relation = ToEnd
	}
	p.f = fields{dst: -1}
	p.next()
	if p.id != tokPlus && p.id != tokMinus {
		return errors.New("'start' or 'end' MUST be followed by +|- offset")
	}
	return nil
}

// numeric reads a reference that begins with a number: time of day, date,
// either before the other, or seconds since 1970.
func (p *parser) numeric() error {
	year := p.f.year
	p.f.hour, p.f.year = unset, unset
	if err := p.clock(); err != nil {
		return err
	}
	if err := p.day(); err != nil {
		return err
	}
	if p.f.hour == unset {
		if err := p.clock(); err != nil {
			return err
		}
	}
	if p.f.hour == unset {
		p.f.hour, p.f.min, p.f.sec = 0, 0, 0
	}
	if p.f.year == unset {
		p.f.year = year
	}
	return nil
}

// clock reads a time of day if one stands here. Whatever token of one or two
// bytes stands here counts as the hour; a word is 0. What turns out to be no time of day stays, but
// as the number it was read as: errors quote it so.
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
	case hour > 23: // not an hour
		p.scanner = back
		p.tok = strconv.Itoa(int(hour))
		return nil
	}
	p.f.hour, p.f.min, p.f.sec = hour, minute, 0
	return nil
}

// day reads a day if one stands here.
func (p *parser) day() error {
	switch id := p.id; {
	case id == tokYesterday:
		p.f.mday--
		p.next()
	case id == tokToday:
		p.next()
	case id == tokTomorrow:
		p.f.mday++
		p.next()
	case id >= tokJanuary && id < tokSunday:
		return p.month(int32(id - tokJanuary))
	case id >= tokSunday:
		p.f.mday += int32(id-tokSunday) - p.f.wday
		p.next()
	case id == tokNumber:
		return p.date()
	}
	return nil
}

// month reads what follows the name of a month: day [year].
func (p *parser) month(mon int32) error {
	p.next()
	if p.id != tokNumber {
		return errors.New("the day of the month should follow month name")
	}
	mday := number(p.tok)
	year := int64(p.f.year)
	p.next()
	if p.id == tokNumber {
		year = number(p.tok)
		p.next()
	}
	return p.setDate(year, mon, int32(mday))
}

// date reads a date of numbers: MM/DD[/YY], DD.MM[.YY], YYYYMMDD, or seconds.
func (p *parser) date() error {
	tok := p.tok
	mon, mday, year := number(tok), int64(0), int64(p.f.year)
	p.next()
	switch {
	case mon > 10*365*24*60*60: // later than about 1980: seconds
		if mon > lastSecond {
			p.far, mon = true, lastSecond
		}
		p.f = local(mon, p.loc)
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

// setDate sets the date. Years are in full, or two digits of 1970 to 2037, or
// since 1900; the present year comes through here as years since 1900, hence
// from 2039 on rrdtool wants it written out.
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
	p.f.year, p.f.mon, p.f.mday = int32(year), mon, mday
	return nil
}

// offsets reads + or - and numbers with units until something else stands there.
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

// add adds n units under the sign in force. m is months after days, weeks,
// months and years, minutes after hours and less; alone, 6 or more are minutes.
// A word that is no unit is read over and means seconds.
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
	if unit >= tokSecond && unit <= tokYear {
		p.unit = unit
	}
	if p.minus {
		n = -n
	}
	switch unit {
	case tokYear:
		p.f.year += n
	case tokMonth:
		p.f.mon += n
	case tokWeek:
		p.f.mday += n * 7
	case tokDay:
		p.f.mday += n
	case tokHour:
		p.offset += int64(n * 3600)
	case tokMinute:
		p.offset += int64(n * 60)
	default:
		p.offset += int64(n)
	}
}
