package graphdata

import (
	"math"
	"strconv"
)

// Powers of ten as xport calculates them, by repeated multiplication or division. The rounding
// errors add up, so large powers are slightly wrong, and the printed digits depend on that.
var powers, fractions = func() (up, down [maxExponent + 1]float64) {
	up[0], down[0] = 1, 1
	for i := range maxExponent {
		up[i+1], down[i+1] = up[i]*10, down[i]/10
	}
	return up, down
}()

// maxExponent is the largest exponent that is printed, with either sign. Numbers below 1e-308 have
// a 0 in front of the point.
const maxExponent = 308

// digits is ten to the number of digits behind the point.
const digits = 1e10

// AppendNumber appends a finite number as xport prints it: with ten digits behind the point and an
// exponent. The last digit is rounded as in rrdtool, which sometimes differs from C's printf. -0 is
// printed as 0.
func AppendNumber(dst []byte, v float64) []byte {
	if v == 0 {
		return append(dst, "0.0000000000e+00"...)
	}
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	e := exponentOf(v)
	v = scaled(v, e)
	front, part := math.Modf(v)
	part *= digits
	behind := math.Floor(part)
	if part-behind >= 0.5 {
		behind++
	}
	if behind == digits {
		front, behind = front+1, 0
	}
	if front >= 10 {
		front, behind, e = 1, 0, e+1
	}
	dst = append(dst, '0'+byte(front), '.')
	var text [10]byte
	n := uint64(behind)
	for i := len(text) - 1; i >= 0; i-- {
		text[i], n = '0'+byte(n%10), n/10
	}
	return appendExponent(append(dst, text[:]...), 'e', e)
}

// appendExponent appends a letter, the sign of an exponent, and its digits, at least two.
func appendExponent(dst []byte, letter byte, e int) []byte {
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

// rounded rounds to the nearest integer, and halves up.
func rounded(v float64) uint64 {
	n := uint64(v)
	if v-float64(n) >= 0.5 {
		n++
	}
	return n
}

// exponentOf returns the decimal exponent of a number that is not negative.
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

// scaled divides by a power of ten, taken from the tables.
func scaled(v float64, exponent int) float64 {
	if exponent >= 0 {
		return v / powers[exponent]
	}
	return v / fractions[-exponent]
}
