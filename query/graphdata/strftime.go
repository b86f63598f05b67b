package graphdata

import (
	"strconv"
	"strings"
	"time"
)

// Names are what a locale says of dates: those of days and months, and the formats of strftime's
// %c, %x, %X and %r.
type Names struct {
	ShortDays, Days                         [7]string // from Sunday
	ShortMonths, Months                     [12]string
	Halves                                  [2]string // of the day
	DateTime, Date, TimeOfDay, TimeOfHalves string
}

// POSIXNames are those of the locale C.
var POSIXNames = func() *Names {
	n := &Names{
		Halves:   [2]string{"AM", "PM"},
		DateTime: "%a %b %e %H:%M:%S %Y", Date: "%m/%d/%y", TimeOfDay: "%H:%M:%S", TimeOfHalves: "%I:%M:%S %p",
	}
	for i := range n.Days {
		n.Days[i] = time.Weekday(i).String()
		n.ShortDays[i] = n.Days[i][:3]
	}
	for i := range n.Months {
		n.Months[i] = time.Month(i + 1).String()
		n.ShortMonths[i] = n.Months[i][:3]
	}
	return n
}()

// Strftime formats a time as the GNU C library's strftime does, with its flags (_ - 0 ^ #), widths
// and modifiers. What it does not know stands as it is. The alternative forms of locales (%E, %O)
// are the plain ones.
func (n *Names) Strftime(format string, t time.Time) string {
	return string(n.appendTime(nil, format, t, 0))
}

const (
	maxNested = 4   // formats of a locale within formats
	maxWidth  = 512 // of one conversion
)

// A conversion is what stands between % and its letter.
type conversion struct {
	pad          byte // 0: as the letter has it; '-', '_' or '0'
	upper, other bool // ^ and #
	width        int
	modifier     byte // E or O
}

func (n *Names) appendTime(dst []byte, format string, t time.Time, depth int) []byte {
	for {
		text, rest, more := strings.Cut(format, "%")
		dst = append(dst, text...)
		if !more {
			return dst
		}
		c, k := readConversion(rest)
		if k == len(rest) { // it ends within
			return append(append(dst, '%'), rest...)
		}
		letter := rest[k]
		format = rest[k+1:]
		if c.other && strings.IndexByte("AbBh", letter) >= 0 {
			c.upper = true
		}
		piece, ok := n.convert(c, letter, t, depth)
		if !ok {
			piece = c.word("%" + rest[:k+1])
		}
		dst = append(dst, piece...)
	}
}

// readConversion reads flags, width and modifier, and returns where the letter is.
func readConversion(s string) (c conversion, k int) {
	for ; k < len(s); k++ {
		switch s[k] {
		case '_', '-', '0':
			c.pad = s[k]
			continue
		case '^':
			c.upper = true
			continue
		case '#':
			c.other = true
			continue
		}
		break
	}
	for ; k < len(s) && '0' <= s[k] && s[k] <= '9'; k++ {
		c.width = min(c.width*10+int(s[k]-'0'), maxWidth)
	}
	if k < len(s) && (s[k] == 'E' || s[k] == 'O') {
		c.modifier = s[k]
		k++
	}
	return c, k
}

// convert formats one conversion.
func (n *Names) convert(c conversion, letter byte, t time.Time, depth int) (string, bool) {
	number := func(v, digits int, pad byte) (string, bool) { return c.number(v, digits, pad), true }
	word := func(s string) (string, bool) { return c.word(s), true }
	nested := func(format string) (string, bool) {
		if depth == maxNested {
			return "", true
		}
		return c.word(string(n.appendTime(nil, format, t, depth+1))), true
	}
	hour := t.Hour() % 12
	if hour == 0 {
		hour = 12
	}
	year, week := t.ISOWeek()
	if c.modifier == 'E' && strings.IndexByte("aAbBdDeFgGhHIjklmMSUVwW", letter) >= 0 || c.modifier == 'O' && strings.IndexByte("aAcDFxXY", letter) >= 0 {
		return "", false
	}
	switch letter {
	case '%':
		return word("%")
	case 'n':
		return word("\n")
	case 't':
		return word("\t")
	case 'a':
		c.upper = c.upper || c.other
		return word(n.ShortDays[t.Weekday()])
	case 'A':
		return word(n.Days[t.Weekday()])
	case 'b', 'h':
		return word(n.ShortMonths[t.Month()-1])
	case 'B':
		return word(n.Months[t.Month()-1])
	case 'c':
		return nested(n.DateTime)
	case 'x':
		return nested(n.Date)
	case 'X':
		return nested(n.TimeOfDay)
	case 'r':
		if n.TimeOfHalves == "" {
			return nested(POSIXNames.TimeOfHalves)
		}
		return nested(n.TimeOfHalves)
	case 'D':
		return nested("%m/%d/%y")
	case 'F':
		return nested("%Y-%m-%d")
	case 'R':
		return nested("%H:%M")
	case 'T':
		return nested("%H:%M:%S")
	case 'p':
		if c.other {
			return c.lower(n.Halves[t.Hour()/12]), true
		}
		return word(n.Halves[t.Hour()/12])
	case 'P':
		return c.lower(n.Halves[t.Hour()/12]), true
	case 'C':
		return number(floorDiv(t.Year(), 100), 2, '0')
	case 'd':
		return number(t.Day(), 2, '0')
	case 'e':
		return number(t.Day(), 2, '_')
	case 'g':
		return number(year-100*floorDiv(year, 100), 2, '0')
	case 'G':
		return number(year, 4, '0')
	case 'H':
		return number(t.Hour(), 2, '0')
	case 'I':
		return number(hour, 2, '0')
	case 'j':
		return number(t.YearDay(), 3, '0')
	case 'k':
		return number(t.Hour(), 2, '_')
	case 'l':
		return number(hour, 2, '_')
	case 'm':
		return number(int(t.Month()), 2, '0')
	case 'M':
		return number(t.Minute(), 2, '0')
	case 's':
		return number(int(t.Unix()), 1, '_')
	case 'S':
		return number(t.Second(), 2, '0')
	case 'u':
		return number((int(t.Weekday())+6)%7+1, 1, '0')
	case 'U':
		return number((t.YearDay()+6-int(t.Weekday()))/7, 2, '0')
	case 'V':
		return number(week, 2, '0')
	case 'w':
		return number(int(t.Weekday()), 1, '0')
	case 'W':
		return number((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2, '0')
	case 'y':
		return number(t.Year()-100*floorDiv(t.Year(), 100), 2, '0')
	case 'Y':
		return number(t.Year(), 4, '0')
	case 'z':
		return c.offset(t), true
	case 'Z':
		zone, _ := t.Zone()
		if c.other {
			return c.lower(zone), true
		}
		return word(zone)
	}
	return "", false
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// number pads a number with zeros or blanks.
func (c conversion) number(v, digits int, pad byte) string {
	if c.pad != 0 {
		pad = c.pad
	}
	if pad == '-' {
		digits, pad = 0, '_'
	}
	sign, text := "", strconv.Itoa(v)
	if v < 0 {
		sign, text = "-", text[1:]
	}
	missing := max(digits, c.width) - len(sign) - len(text)
	switch {
	case missing <= 0:
		return sign + text
	case pad == '_':
		return strings.Repeat(" ", missing) + sign + text
	}
	return sign + strings.Repeat("0", missing) + text
}

// offset is the zone as +hhmm. A width counts for the sign, and again for the number.
func (c conversion) offset(t time.Time) string {
	_, seconds := t.Zone()
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	minutes := seconds / 60
	return c.word(sign) + c.number(minutes/60*100+minutes%60, 4, '0')
}

// word pads text, with blanks unless zeros were asked for.
func (c conversion) word(s string) string {
	if c.upper {
		s = strings.Map(func(r rune) rune { return mapped(r, 'a', 'z', 'A') }, s)
	}
	missing := c.width - len(s)
	if missing <= 0 {
		return s
	}
	pad := " "
	if c.pad == '0' {
		pad = "0"
	}
	return strings.Repeat(pad, missing) + s
}

// lower is a word in small letters, whatever the flags say.
func (c conversion) lower(s string) string {
	c.upper = false
	return c.word(strings.Map(func(r rune) rune { return mapped(r, 'A', 'Z', 'a') }, s))
}

// mapped maps the letters of ASCII only, as the C library does with bytes.
func mapped(r, from, to, other rune) rune {
	if from <= r && r <= to {
		return r - from + other
	}
	return r
}
