package attime

import (
	"strings"

	"github.com/rondo-db/rondo/query/rrd/numeral"
)

// A tokenID is the meaning of a token.
type tokenID int

const (
	tokEOF tokenID = iota // the end, or a byte that starts no token
	tokWord
	tokNumber
	tokPlus
	tokMinus
	tokDot
	tokColon
	tokSlash

	tokAM
	tokPM
	tokNow
	tokStart
	tokEnd
	tokEpoch
	tokNoon
	tokMidnight
	tokTeatime
	tokYesterday
	tokToday
	tokTomorrow

	tokSecond
	tokMinute
	tokHour
	tokDay
	tokWeek
	tokMonth
	tokYear
	tokMonthOrMinute // m

	tokJanuary // 12 of them
	tokSunday  = tokJanuary + 12
)

// words are the words of references. units are the words behind the numbers of offsets.
var words = map[string]tokenID{
	"midnight": tokMidnight, "noon": tokNoon, "teatime": tokTeatime,
	"am": tokAM, "pm": tokPM,
	"yesterday": tokYesterday, "today": tokToday, "tomorrow": tokTomorrow,
	"now": tokNow, "n": tokNow,
	"start": tokStart, "s": tokStart, "end": tokEnd, "e": tokEnd, "epoch": tokEpoch,

	"january": tokJanuary, "jan": tokJanuary,
	"february": tokJanuary + 1, "feb": tokJanuary + 1,
	"march": tokJanuary + 2, "mar": tokJanuary + 2,
	"april": tokJanuary + 3, "apr": tokJanuary + 3,
	"may":  tokJanuary + 4,
	"june": tokJanuary + 5, "jun": tokJanuary + 5,
	"july": tokJanuary + 6, "jul": tokJanuary + 6,
	"august": tokJanuary + 7, "aug": tokJanuary + 7,
	"september": tokJanuary + 8, "sep": tokJanuary + 8,
	"october": tokJanuary + 9, "oct": tokJanuary + 9,
	"november": tokJanuary + 10, "nov": tokJanuary + 10,
	"december": tokJanuary + 11, "dec": tokJanuary + 11,

	"sunday": tokSunday, "sun": tokSunday,
	"monday": tokSunday + 1, "mon": tokSunday + 1,
	"tuesday": tokSunday + 2, "tue": tokSunday + 2,
	"wednesday": tokSunday + 3, "wed": tokSunday + 3,
	"thursday": tokSunday + 4, "thu": tokSunday + 4,
	"friday": tokSunday + 5, "fri": tokSunday + 5,
	"saturday": tokSunday + 6, "sat": tokSunday + 6,
}

var units = map[string]tokenID{
	"second": tokSecond, "seconds": tokSecond, "sec": tokSecond, "s": tokSecond,
	"minute": tokMinute, "minutes": tokMinute, "min": tokMinute,
	"hour": tokHour, "hours": tokHour, "hr": tokHour, "h": tokHour,
	"day": tokDay, "days": tokDay, "d": tokDay,
	"week": tokWeek, "weeks": tokWeek, "wk": tokWeek, "w": tokWeek,
	"month": tokMonth, "months": tokMonth, "mon": tokMonth,
	"year": tokYear, "years": tokYear, "yr": tokYear, "y": tokYear,
	"m": tokMonthOrMinute,
}

// A scanner splits a time into tokens. A copy of it serves to go back.
type scanner struct {
	spec  string
	pos   int // index behind tok
	table map[string]tokenID
	id    tokenID
	tok   string
}

// next reads one token. A byte that starts no token ends the text. It is the token then, but also
// stays in the rest, so messages show it twice.
func (s *scanner) next() {
	for s.pos < len(s.spec) && strings.IndexByte(" \t\n\v\f\r_,", s.spec[s.pos]) >= 0 {
		s.pos++
	}
	s.id, s.tok = tokEOF, ""
	if s.pos == len(s.spec) {
		return
	}
	c := s.spec[s.pos]
	switch {
	case isDigit(c):
		s.id, s.tok = tokNumber, s.run(isDigit)
		return
	case isAlpha(c):
		s.tok = s.run(isAlpha)
		if id, ok := s.table[strings.ToLower(s.tok)]; ok {
			s.id = id
		} else {
			s.id = tokWord
		}
		return
	}
	s.tok = s.spec[s.pos : s.pos+1]
	switch c {
	case '+':
		s.id = tokPlus
	case '-':
		s.id = tokMinus
	case '.':
		s.id = tokDot
	case ':':
		s.id = tokColon
	case '/':
		s.id = tokSlash
	default:
		return
	}
	s.pos++
}

func (s *scanner) run(is func(byte) bool) string {
	from := s.pos
	for s.pos < len(s.spec) && is(s.spec[s.pos]) {
		s.pos++
	}
	return s.spec[from:s.pos]
}

// rest returns the token and the text behind it, for messages.
func (s *scanner) rest() string { return s.tok + s.spec[s.pos:] }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// number reads leading digits as a 64-bit integer. A number that is too large becomes the largest
// one. Without digits it is 0.
func number(tok string) int64 {
	n, _, _ := numeral.Scan(tok, 10)
	return n
}
