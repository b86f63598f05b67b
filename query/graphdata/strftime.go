package graphdata

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Names are the words and formats of a locale for dates.
type Names struct {
	ShortDays, Days                         [7]string // from Sunday
	ShortMonths, Months                     [12]string
	Halves                                  [2]string // AM and PM
	DateTime, Date, TimeOfDay, TimeOfHalves string    // formats of strftime's %c, %x, %X and %r
}

// POSIXNames are the names of the locale C.
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
// and modifiers. Unknown conversions are copied unchanged. %E and %O, a locale's alternative forms,
// give the plain forms.
func (n *Names) Strftime(format string, t time.Time) string {
	return string(n.appendTime(nil, format, t, 0))
}

const (
	maxNested = 4    // depth of formats within the formats of a locale
	maxWidth  = 512  // width of one conversion
	maxTime   = 4096 // bytes of a time from which on no further conversion is printed
)

// A conversion is the flags, width and modifier between a % and its letter.
type conversion struct {
	pad          byte // '-', '_' or '0'; 0: the letter's own
	upper, other bool // the flags ^ and #
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
		if len(dst) > maxTime {
			return dst
		}
		piece, ok := n.convert(c, letter, t, depth)
		if !ok {
			piece = c.word("%" + rest[:k+1])
		}
		dst = append(dst, piece...)
	}
}

// readConversion reads flags, width and modifier, and returns the index of the letter.
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

// convert formats one conversion. It returns false for a letter, or a modifier before a letter,
// that strftime does not know.
func (n *Names) convert(c conversion, letter byte, t time.Time, depth int) (string, bool) {
	if c.modifier == 'E' && strings.IndexByte("aAbBdDeFgGhHIjklmMSUVwW", letter) >= 0 || c.modifier == 'O' && strings.IndexByte("aAcDFxXY", letter) >= 0 {
		return "", false
	}
	if format, ok := n.nested(letter); ok {
		if depth == maxNested {
			return "", true
		}
		return c.word(string(n.appendTime(nil, format, t, depth+1))), true
	}
	if x, ok := numbers[letter]; ok {
		return c.number(x.of(t), x.digits, x.pad), true
	}
	return n.wordOf(c, letter, t)
}

// nested returns the format that a letter stands for, or false if it stands for none.
func (n *Names) nested(letter byte) (format string, ok bool) {
	format, ok = map[byte]string{
		'c': n.DateTime, 'x': n.Date, 'X': n.TimeOfDay, 'r': cmp.Or(n.TimeOfHalves, POSIXNames.TimeOfHalves),
		'D': "%m/%d/%y", 'F': "%Y-%m-%d", 'R': "%H:%M", 'T': "%H:%M:%S",
	}[letter]
	return format, ok
}

// numbers are the letters that stand for numbers: the number, its digits, and the byte it is padded
// with.
var numbers = map[byte]struct {
	of     func(time.Time) int
	digits int
	pad    byte
}{
	'C': {func(t time.Time) int { return floorDiv(t.Year(), 100) }, 2, '0'},
	'd': {time.Time.Day, 2, '0'},
	'e': {time.Time.Day, 2, '_'},
	'g': {func(t time.Time) int { return isoYear(t) - 100*floorDiv(isoYear(t), 100) }, 2, '0'},
	'G': {isoYear, 4, '0'},
	'H': {time.Time.Hour, 2, '0'},
	'I': {hourOfHalf, 2, '0'},
	'j': {time.Time.YearDay, 3, '0'},
	'k': {time.Time.Hour, 2, '_'},
	'l': {hourOfHalf, 2, '_'},
	'm': {func(t time.Time) int { return int(t.Month()) }, 2, '0'},
	'M': {time.Time.Minute, 2, '0'},
	's': {func(t time.Time) int { return int(t.Unix()) }, 1, '_'},
	'S': {time.Time.Second, 2, '0'},
	'u': {func(t time.Time) int { return sinceMonday(t) + 1 }, 1, '0'},
	'U': {func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 }, 2, '0'},
	'V': {func(t time.Time) int { _, week := t.ISOWeek(); return week }, 2, '0'},
	'w': {func(t time.Time) int { return int(t.Weekday()) }, 1, '0'},
	'W': {func(t time.Time) int { return (t.YearDay() + 6 - sinceMonday(t)) / 7 }, 2, '0'},
	'y': {func(t time.Time) int { return t.Year() - 100*floorDiv(t.Year(), 100) }, 2, '0'},
	'Y': {time.Time.Year, 4, '0'},
}

func isoYear(t time.Time) int {
	year, _ := t.ISOWeek()
	return year
}

func hourOfHalf(t time.Time) int  { return (t.Hour()+11)%12 + 1 }
func sinceMonday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

// wordOf formats a letter that stands for a text. It returns false for any other letter.
func (n *Names) wordOf(c conversion, letter byte, t time.Time) (string, bool) {
	switch letter {
	case '%':
		return c.word("%"), true
	case 'n':
		return c.word("\n"), true
	case 't':
		return c.word("\t"), true
	case 'a':
		c.upper = c.upper || c.other
		return c.word(n.ShortDays[t.Weekday()]), true
	case 'A':
		return c.word(n.Days[t.Weekday()]), true
	case 'b', 'h':
		return c.word(n.ShortMonths[t.Month()-1]), true
	case 'B':
		return c.word(n.Months[t.Month()-1]), true
	case 'p':
		if c.other {
			return c.lower(n.Halves[t.Hour()/12]), true
		}
		return c.word(n.Halves[t.Hour()/12]), true
	case 'P':
		return c.lower(n.Halves[t.Hour()/12]), true
	case 'z':
		return c.offset(t), true
	case 'Z':
		zone, _ := t.Zone()
		if c.other {
			return c.lower(zone), true
		}
		return c.word(zone), true
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
	width := max(digits, c.width)
	if pad == '_' {
		return padded(sign+text, width, " ")
	}
	return sign + padded(text, width-len(sign), "0")
}

// padded returns text with as many of fill before it as it lacks of a width.
func padded(text string, width int, fill string) string {
	return strings.Repeat(fill, max(width-len(text), 0)) + text
}

// offset formats the time zone as +hhmm. A width applies to the sign, and again to the number.
func (c conversion) offset(t time.Time) string {
	_, seconds := t.Zone()
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	minutes := seconds / 60
	return c.word(sign) + c.number(minutes/60*100+minutes%60, 4, '0')
}

// word pads text with blanks, or with zeros if the flag 0 is set.
func (c conversion) word(s string) string {
	if c.upper {
		s = strings.Map(func(r rune) rune { return mapped(r, 'a', 'z', 'A') }, s)
	}
	if c.pad == '0' {
		return padded(s, c.width, "0")
	}
	return padded(s, c.width, " ")
}

// lower formats a word in small letters, whatever the flags say.
func (c conversion) lower(s string) string {
	c.upper = false
	return c.word(strings.Map(func(r rune) rune { return mapped(r, 'A', 'Z', 'a') }, s))
}

// mapped changes the case of ASCII letters only, as the C library does with bytes.
func mapped(r, from, to, other rune) rune {
	if from <= r && r <= to {
		return r - from + other
	}
	return r
}
