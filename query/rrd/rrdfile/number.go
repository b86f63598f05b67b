package rrdfile

import (
	"math"
	"strconv"
)

// rrdtool prints the numbers of a dump with a printf of its own, which does not round correctly. It
// divides the number by a power of ten and multiplies the digits behind the point by another, all
// in doubles. The last digit differs from a correct one if the number is near the middle between
// two numbers of 11 digits. Numbers below 1e-308 have zeros in front.

const minExponent = -308

// tens are the powers of ten, calculated by repeated multiplication or division like rrdtool's.
var tens = func() (t [308 - minExponent + 1]float64) {
	t[-minExponent] = 1
	for e := 1; e <= 308; e++ {
		t[e-minExponent] = t[e-1-minExponent] * 10
	}
	for e := -1; e >= minExponent; e-- {
		t[e-minExponent] = t[e+1-minExponent] / 10
	}
	return t
}()

// appendNumber appends v as rrdtool prints it with %0.10e. An unknown value is NaN.
func appendNumber(b []byte, v float64) []byte {
	if v != v {
		return append(b, "NaN"...)
	}
	if v < 0 {
		b = append(b, '-')
		v = -v
	}
	if v > math.MaxFloat64 {
		return append(b, "inf"...)
	}
	exponent := 0
	for t := v; t >= 10; t /= 10 {
		exponent++
	}
	for t := v; t < 1 && t > 0 && exponent > minExponent; t *= 10 {
		exponent--
	}
	const scale = 10_000_000_000
	q := v / tens[exponent-minExponent]
	whole := uint64(q)
	f := float64((q - float64(whole)) * scale)
	fraction := uint64(f)
	if f-float64(fraction) >= 0.5 {
		fraction++
	}
	if fraction >= scale {
		fraction -= scale
		if whole++; whole >= 10 {
			whole = 1
			exponent++
		}
	}
	b = append(b, '0'+byte(whole), '.')
	var digits [10]byte
	for i := range digits {
		digits[9-i] = '0' + byte(fraction%10)
		fraction /= 10
	}
	b = append(b, digits[:]...)
	sign := byte('+')
	if exponent < 0 {
		sign, exponent = '-', -exponent
	}
	b = append(b, 'e', sign)
	if exponent < 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(exponent), 10)
}
