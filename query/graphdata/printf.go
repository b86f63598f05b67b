package graphdata

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query/rrd/numeral"
)

// The limits of PRINT and GPRINT.
const (
	maxFormat  = 200 // bytes of a format
	maxPrinted = 244 // bytes of a printed text
	maxDigits  = 19  // digits behind the point
)

// A format is the format of PRINT and GPRINT: text around one number and an optional SI prefix
// behind the number.
type format struct {
	before, after, end string // text before the number, before the prefix, and after the prefix
	flags              string // which ones of "-+ #0" are set
	width, precision   int    // precision -1 means 6
	verb               byte   // one of eEfFgG
	prefix             byte   // 's': the number's own; 'S': the one used last; 0: none
}

// parseFormat reads a format. It may contain %[flag][width][.precision]l with a verb, %s, %S and
// %%. ok is false if the format contains any other conversion.
func parseFormat(text string) (f format, ok bool) {
	var word []byte
	for text != "" {
		if text[0] != '%' {
			word, text = append(word, text[0]), text[1:]
			continue
		}
		text = text[1:]
		switch {
		case text == "":
			return f, false
		case text[0] == '%':
			word, text = append(word, '%'), text[1:]
		case text[0] == 's' || text[0] == 'S':
			if f.verb == 0 || f.prefix != 0 {
				return f, false
			}
			f.after, f.prefix = string(word), text[0]
			word, text = nil, text[1:]
		default:
			if f.verb != 0 {
				return f, false
			}
			f.before, word = string(word), nil
			if text, ok = f.number(text); !ok {
				return f, false
			}
		}
	}
	if f.prefix == 0 {
		f.after = string(word)
	} else {
		f.end = string(word)
	}
	return f, f.verb != 0
}

// number reads the conversion of the number, behind its %, and returns the rest of the text.
func (f *format) number(text string) (rest string, ok bool) {
	if strings.IndexByte("+- 0#", text[0]) >= 0 {
		f.flags, text = text[:1], text[1:]
	}
	for strings.HasPrefix(text, "0") {
		f.flags, text = f.flags+"0", text[1:]
	}
	f.width, text, _ = leadingNumber(text)
	f.precision = -1
	if strings.HasPrefix(text, ".") {
		if f.precision, text, ok = leadingNumber(text[1:]); !ok {
			return text, false
		}
	}
	if len(text) < 2 || text[0] != 'l' || strings.IndexByte("eEfFgG", text[1]) < 0 {
		return text, false
	}
	f.verb = text[1]
	return text[2:], true
}

// leadingNumber reads the digits at the beginning of text. ok is false without digits. A number
// larger than any text that is printed is lowered.
func leadingNumber(text string) (n int, rest string, ok bool) {
	i := 0
	for ; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
		n = min(n*10+int(text[i]-'0'), maxFormat*maxFormat)
	}
	return n, text[i:], i > 0
}

// append appends the text of a number and its prefix. A number of 2^64 or more without an exponent
// ends the text in front of the number, as in rrdtool.
func (f *format) append(dst []byte, v float64, prefix string) []byte {
	dst = append(dst, f.before...)
	number, ok := f.appendValue(nil, v)
	if !ok {
		return dst
	}
	pad := f.width - len(number)
	switch {
	case pad <= 0:
	case strings.Contains(f.flags, "-"):
		number = append(number, strings.Repeat(" ", min(pad, maxPrinted))...)
	case strings.Contains(f.flags, "0") && v-v == 0: // finite
		sign := 0
		if number[0] == '-' || number[0] == '+' || number[0] == ' ' {
			sign = 1
		}
		number = append(number[:sign:sign], append([]byte(strings.Repeat("0", min(pad, maxPrinted))), number[sign:]...)...)
	default:
		number = append([]byte(strings.Repeat(" ", min(pad, maxPrinted))), number...)
	}
	dst = append(append(dst, number...), f.after...)
	if f.prefix != 0 {
		dst = append(dst, prefix...)
	}
	return append(dst, f.end...)
}

// appendValue appends the number itself. Like [numeral.Append], it calculates the digits before and
// behind the point separately, in doubles. It returns false if the number is too large.
func (f *format) appendValue(dst []byte, v float64) ([]byte, bool) {
	upper := f.verb < 'a'
	switch {
	case v < 0:
		dst, v = append(dst, '-'), -v
	case strings.Contains(f.flags, "+"):
		dst = append(dst, '+')
	case strings.Contains(f.flags, " "):
		dst = append(dst, ' ')
	}
	if v != v || v > math.MaxFloat64 {
		word := "nan"
		if v == v {
			word = "inf"
		}
		if upper {
			word = strings.ToUpper(word)
		}
		return append(dst, word...), true
	}
	sharp := strings.Contains(f.flags, "#")
	exponent, precision, scientific := f.layout(v)
	if scientific {
		v = numeral.Scaled(v, exponent)
	}
	if v >= 1<<64 {
		return dst[:0], false
	}
	whole := uint64(v)
	scale := numeral.Powers[precision]
	behind := numeral.Rounded((v - float64(whole)) * scale)
	if behind >= uint64(scale) {
		behind = 0
		whole++
	}
	if scientific && whole >= 10 {
		whole, behind = 1, 0
		exponent++
	}
	dst = strconv.AppendUint(dst, whole, 10)
	digits := strconv.AppendUint(nil, behind, 10)
	digits = append([]byte(strings.Repeat("0", max(precision-len(digits), 0))), digits...)[:precision]
	if !sharp && (f.verb == 'g' || f.verb == 'G') {
		digits = bytes.TrimRight(digits, "0")
	}
	if len(digits) > 0 || sharp {
		dst = append(append(dst, '.'), digits...)
	}
	if !scientific {
		return dst, true
	}
	if upper {
		return numeral.AppendExponent(dst, 'E', exponent), true
	}
	return numeral.AppendExponent(dst, 'e', exponent), true
}

// layout returns how a finite number that is not negative is written. scientific says whether it
// has an exponent, and precision how many digits stand behind the point.
func (f *format) layout(v float64) (exponent, precision int, scientific bool) {
	precision = f.precision
	if precision < 0 {
		precision = 6
	}
	switch f.verb {
	case 'e', 'E':
		exponent, scientific = numeral.Exponent(v), true
	case 'g', 'G':
		precision = min(max(precision, 1), maxDigits+1)
		exponent = numeral.Exponent(v)
		if v = numeral.Scaled(v, exponent); v >= 9 && numeral.Rounded((v-9)*numeral.Powers[precision-1]) >= uint64(numeral.Powers[precision-1]) {
			exponent++ // the number is rounded up to the next power of ten
		}
		if scientific = exponent < -4 || exponent >= precision; scientific {
			precision--
		} else {
			precision -= exponent + 1
			exponent = 0
		}
	}
	return exponent, min(precision, maxDigits), scientific
}

// Power returns a power of 1,024, or else of 1,000, correctly rounded: math.Pow does not do that.
func Power(base, power int) float64 {
	switch {
	case base == 1024:
		return math.Ldexp(1, 10*power)
	case power < -110 || power > 110: // 0 or infinity
		return math.Pow(1000, float64(power))
	}
	v, _ := strconv.ParseFloat("1e"+strconv.Itoa(3*power), 64) // infinity if it is out of range
	return v
}

// A scale is the SI prefix that was used last, for formats with %S.
type scale struct {
	set   bool
	power int // of base
	base  int // 1,000 or 1,024; 0 means 1,000
}

var prefixes = [...]string{"a", "f", "p", "n", "u", "m", " ", "k", "M", "G", "T", "P", "E"}

const noPrefix = 6 // index of the blank in prefixes

// of returns a number divided by the power of its prefix, and the prefix.
func (s *scale) of(prefix byte, v float64) (float64, string) {
	if prefix == 0 {
		return v, ""
	}
	own := prefix == 's' || !s.set
	if own {
		s.set, s.power = true, 0
		switch {
		case math.IsInf(v, 0):
			s.power = math.MinInt32 // C's conversion of infinity to int
		case v != 0 && v == v:
			s.power = int(math.Floor(math.Log(math.Abs(v)) / math.Log(float64(cmp.Or(s.base, 1000)))))
		}
	}
	name := "?"
	if i := s.power + noPrefix; i >= 0 && i < len(prefixes) {
		name = prefixes[i]
	}
	v /= Power(s.base, s.power)
	if prefix == 'S' && own && v == 0 { // zero does not decide on a prefix
		s.set = false
	}
	return v, name
}

// Prefix returns the SI prefix of a number for base 1000 or 1024, and the number to divide it by.
func Prefix(base int, v float64) (divide float64, name string) {
	s := scale{base: base}
	_, name = s.of('s', v)
	return Power(base, s.power), name
}

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
