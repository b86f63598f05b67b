// Package numeral prints numbers as rrdtool's dump and xport do, whose printf calculates the digits
// before and behind the point separately, in doubles. So the last digit is not always what C's
// printf prints. [Scan] reads integers as C does.
package numeral

import (
	"math"
	"strconv"
)

// maxExponent is the largest exponent that is printed, with either sign. Numbers below 1e-308 have
// a 0 in front of the point.
const maxExponent = 308

// Powers are the powers of ten as rrdtool calculates them, by repeated multiplication. The rounding
// errors add up, so large powers are slightly wrong, and the printed digits depend on that.
// fractions are likewise made by repeated division.
var Powers, fractions = func() (up, down [maxExponent + 1]float64) {
	up[0], down[0] = 1, 1
	for i := range maxExponent {
		up[i+1], down[i+1] = up[i]*10, down[i]/10
	}
	return up, down
}()

// Append appends a number with ten digits behind the point and an exponent. -0 is printed as 0, and
// an unknown value as NaN.
func Append(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case v < 0:
		dst, v = append(dst, '-'), -v
	}
	if math.IsInf(v, 0) {
		return append(dst, "inf"...)
	}
	e := Exponent(v)
	front, part := math.Modf(Scaled(v, e))
	whole, behind := uint64(front), Rounded(part*Powers[10])
	if behind >= uint64(Powers[10]) {
		if whole, behind = whole+1, 0; whole == 10 {
			whole, e = 1, e+1
		}
	}
	dst = append(strconv.AppendUint(dst, whole, 10), '.') // which may be 10, of 1e-14
	var text [10]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i], behind = '0'+byte(behind%10), behind/10
	}
	return AppendExponent(append(dst, text[:]...), 'e', e)
}

// AppendC appends a number as C's printf and strconv.AppendFloat do, and infinities as printf does.
// unknown is the text of an unknown value.
func AppendC(dst []byte, v float64, unknown string, format byte, digits int) []byte {
	switch {
	case v != v:
		return append(dst, unknown...)
	case v > math.MaxFloat64:
		return append(dst, "inf"...)
	case v < -math.MaxFloat64:
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, v, format, digits, 64)
}

// AppendExponent appends a letter, the sign of an exponent, and its digits, at least two.
func AppendExponent(dst []byte, letter byte, e int) []byte {
	sign := byte('+')
	if e < 0 {
		sign, e = '-', -e
	}
	dst = append(dst, letter, sign)
	if e < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(e), 10)
}

// Rounded rounds to the nearest integer, and halves up.
func Rounded(v float64) uint64 {
	n := uint64(v)
	if v-float64(n) >= 0.5 {
		n++
	}
	return n
}

// Exponent returns the decimal exponent of a number that is not negative.
func Exponent(v float64) int {
	e := 0
	for t := v; t >= 10 && e < maxExponent; e++ {
		t /= 10
	}
	for t := v; t < 1 && t > 0 && e > -maxExponent; e-- {
		t *= 10
	}
	return e
}

// Scaled divides by a power of ten, taken from the tables.
func Scaled(v float64, exponent int) float64 {
	if exponent >= 0 {
		return v / Powers[exponent]
	}
	return v / fractions[-exponent]
}

// Scan reads the integer that a text begins with, as C's strtol does. Base 0 accepts the
// prefixes 0x and 0. used is the number of bytes read; it is 0 if the text begins with no integer.
func Scan[T string | []byte](text T, base int) (v int64, used int, overflow bool) {
	n, negative, used, overflow := ScanUnsigned(text, base)
	switch overflow = overflow || n > math.MaxInt64; {
	case overflow && negative:
		return math.MinInt64, used, true
	case overflow:
		return math.MaxInt64, used, true
	case negative:
		return -int64(n), used, false
	}
	return int64(n), used, false
}

// ScanUnsigned is Scan for an integer of 64 bits and its sign, as C's strtoul does.
func ScanUnsigned[T string | []byte](text T, base int) (v uint64, negative bool, used int, overflow bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || '\t' <= text[i] && text[i] <= '\r') {
		i++
	}
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		negative = text[i] == '-'
		i++
	}
	if base == 0 {
		base = 10
		if i < len(text) && text[i] == '0' {
			base = 8
			if i+2 < len(text) && text[i+1]|0x20 == 'x' && digit(text[i+2]) < 16 {
				base = 16
				i += 2
			}
		}
	}
	start := i
	for ; i < len(text) && digit(text[i]) < base; i++ {
		d := uint64(digit(text[i]))
		if v > (math.MaxUint64-d)/uint64(base) {
			overflow = true
			continue
		}
		v = v*uint64(base) + d
	}
	if i == start {
		return 0, false, 0, false
	}
	return v, negative, i, overflow
}

func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}
