package graphdata

import (
	"math"
	"strconv"
)

// Powers of ten as xport makes them: by one multiplication or division after the other, so that the
// larger ones are not quite powers of ten.
var powers, fractions = func() (up, down [maxExponent + 1]float64) {
	up[0], down[0] = 1, 1
	for i := range maxExponent {
		up[i+1], down[i+1] = up[i]*10, down[i]/10
	}
	return up, down
}()

// maxExponent is the greatest exponent; smaller numbers than 1e-308 have a 0 in front of the point.
const maxExponent = 308

// digits are those behind the point.
const digits = 1e10

// AppendNumber appends a finite number as xport prints it: with ten digits behind the point and an
// exponent. A last digit that could go either way goes where rrdtool lets it go, which is not where
// C's printf would. There is no -0.
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

// appendExponent appends an exponent of at least two digits behind a letter.
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
