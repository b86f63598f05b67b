package graphdata

import (
	"fmt"
	"math"
	"strings"
)

// A CFormat is a format of one number as C's printf has it, perhaps with an SI prefix behind it.
type CFormat struct{ format }

// ParseCFormat reads %[flag][width][.precision]l and a verb of eEfFgG, with text around it where
// %% is a per cent sign. prefixed says that one %s or %S may follow the number. It is not ok if
// there is anything else in it.
func ParseCFormat(text string, prefixed bool) (f CFormat, ok bool) {
	f.format, ok = parseFormat(text)
	return f, ok && (prefixed || f.prefix == 0)
}

// A Point is the decimal point of a locale. Empty means ".".
type Point string

// In returns the text of a number with the point. It has as many more bytes as the point has, since
// rrdtool counts them neither.
func (p Point) In(number string) string {
	if p == "" {
		return number
	}
	return strings.Replace(number, ".", string(p), 1)
}

// Append prints a number with the digits that C's printf gives, and the prefix.
func (f CFormat) Append(dst []byte, v float64, prefix string, point Point) []byte {
	dst = append(dst, f.before...)
	dst = append(dst, point.In(f.number(v))...)
	dst = append(dst, f.after...)
	if f.prefix != 0 {
		dst = append(dst, prefix...)
	}
	return append(dst, f.end...)
}

// maxCWidth bounds the width and the precision of a number, in bytes.
const maxCWidth = 1000

func (f CFormat) number(v float64) string {
	flags, width := f.flags, min(f.width, maxCWidth)
	if v-v != 0 { // not finite
		word := "inf"
		switch {
		case math.IsNaN(v):
			word = "-nan" // as the machines that rrdtool runs on have it
		case v < 0:
			word = "-inf"
		case strings.Contains(flags, "+"):
			word = "+inf"
		case strings.Contains(flags, " "):
			word = " inf"
		}
		if f.verb < 'a' {
			word = strings.ToUpper(word)
		}
		if strings.Contains(flags, "-") {
			return fmt.Sprintf("%-*s", width, word)
		}
		return fmt.Sprintf("%*s", width, word)
	}
	if strings.Contains(flags, "-") {
		flags = "-"
	}
	precision := f.precision
	if precision < 0 {
		precision = 6
	}
	return fmt.Sprintf("%"+flags+"*.*"+string(f.verb), width, min(precision, maxCWidth), v)
}
