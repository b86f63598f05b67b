package graphdata

import (
	"math"
	"strconv"
	"strings"
)

// The limits of what PRINT and GPRINT print, in bytes.
const (
	maxFormat  = 200
	maxPrinted = 244
	maxDigits  = 19 // behind the point
)

// A format is what PRINT and GPRINT are given: text around one number, and behind that perhaps one
// SI prefix.
type format struct {
	// what stands in front of the number, between it and the prefix, and behind that
	before, after, end string
	flags              string // of "-+ #0", as far as they are there
	width, precision   int    // precision -1: 6
	verb               byte   // one of eEfFgG
	prefix             byte   // s: the number's own; S: the one used last; 0: none
}

// parseFormat reads a format: %[flag][width][.precision]l and a verb; %s, %S; %%. It is not ok if
// there is anything else in it.
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

// number reads what stands behind the % of a number, and returns the rest.
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

// leadingNumber reads digits; ok if there are any. What is printed is shorter than the number then.
func leadingNumber(text string) (n int, rest string, ok bool) {
	i := 0
	for ; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
		n = min(n*10+int(text[i]-'0'), maxFormat*maxFormat)
	}
	return n, text[i:], i > 0
}

// append prints a number, with the prefix that belongs to it. A number that has more than 19 digits
// in front of the point ends the text there, as rrdtool has it.
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

// appendValue appends the number itself. It is made as [AppendNumber] makes its, digits before and
// behind the point apart, in doubles.
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
	precision, sharp := f.precision, strings.Contains(f.flags, "#")
	if precision < 0 {
		precision = 6
	}
	exponent, scientific, trim, number := 0, false, false, v
	switch f.verb {
	case 'e', 'E':
		exponent, scientific = exponentOf(v), true
	case 'g', 'G':
		precision = min(max(precision, 1), maxDigits+1)
		exponent = exponentOf(v)
		if v = scaled(v, exponent); v >= 9 && rounded((v-9)*powers[precision-1]) >= uint64(powers[precision-1]) {
			exponent++ // it is rounded to the next power of ten
		}
		v = number
		scientific, trim = exponent < -4 || exponent >= precision, !sharp
		if scientific {
			precision--
		} else {
			precision -= exponent + 1
			exponent = 0
		}
	}
	precision = min(precision, maxDigits)
	if scientific {
		v = scaled(v, exponent)
	}
	if v >= 1<<64 {
		return dst[:0], false
	}
	whole := uint64(v)
	scale := powers[precision]
	behind := rounded((v - float64(whole)) * scale)
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
	if trim {
		for len(digits) > 0 && digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
	}
	if len(digits) > 0 || sharp {
		dst = append(append(dst, '.'), digits...)
	}
	if !scientific {
		return dst, true
	}
	if upper {
		return appendExponent(dst, 'E', exponent), true
	}
	return appendExponent(dst, 'e', exponent), true
}

// rounded rounds half of one up.
func rounded(v float64) uint64 {
	n := uint64(v)
	if v-float64(n) >= 0.5 {
		n++
	}
	return n
}

// exponentOf is the exponent of ten of a number that is not negative.
func exponentOf(v float64) int {
	e := 0
	if v == 0 {
		return 0
	}
	for t := v; t >= 10 && e < maxExponent; e++ {
		t /= 10
	}
	for t := v; t < 1 && e > -maxExponent; e-- {
		t *= 10
	}
	return e
}

// scaled divides by a power of ten.
func scaled(v float64, exponent int) float64 {
	if exponent >= 0 {
		return v / powers[exponent]
	}
	return v / fractions[-exponent]
}

// thousand is a power of 1,000, correctly rounded, which math.Pow is not.
func thousand(power int) float64 {
	if power < -110 || power > 110 { // 0 or infinity
		return math.Pow(1000, float64(power))
	}
	v, _ := strconv.ParseFloat("1e"+strconv.Itoa(3*power), 64) // infinite out of range
	return v
}

// A scale is the SI prefix used last, for formats that go on with it.
type scale struct {
	set   bool
	power int // of 1,000
}

var prefixes = [...]string{"a", "f", "p", "n", "u", "m", " ", "k", "M", "G", "T", "P", "E"}

const noPrefix = 6 // among the prefixes

// of returns a number as a format wants it, and the prefix.
func (s *scale) of(prefix byte, v float64) (float64, string) {
	if prefix == 0 {
		return v, ""
	}
	own := prefix == 's' || !s.set
	if own {
		s.set, s.power = true, 0
		switch {
		case math.IsInf(v, 0):
			s.power = math.MinInt32 // as a conversion of infinity gives it
		case v != 0 && v == v:
			s.power = int(math.Floor(math.Log(math.Abs(v)) / math.Log(1000)))
		}
	}
	name := "?"
	if i := s.power + noPrefix; i >= 0 && i < len(prefixes) {
		name = prefixes[i]
	}
	v /= thousand(s.power)
	if prefix == 'S' && own && v == 0 { // nothing says which
		s.set = false
	}
	return v, name
}
