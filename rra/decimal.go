package rra

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/rondo-db/rondo/rra/rpn"
)

// Most readings that arrive as text are decimal numbers, and rrdtool must print each as it was
// written: 1.50, 1.5e+00 and 1.5 are one number and three last readings. So the Value of such a
// text holds its digits, and the position of its point or its exponent. That fits into 64 bits, and
// nothing has to be allocated, or printed to find out whether printing gives the text again.
//
// Bits of a Value with TagDecimal or TagExponent, part of the format:
//
//	bits 6 to 63   the digits as a signed integer
//	bits 0 to 5    TagDecimal: how many of the digits are decimals; 0: there is no point.
//	               TagExponent: the exponent plus 32. Of zero: how many decimals there are.
//
// With TagExponent the point stands behind the first digit, and the exponent has two digits, as C's
// %e and %g print it. The first digit is not 0, unless the number is zero; then the exponent is 0.

// PlacesBits is how many low bits of a Value with TagDecimal or TagExponent say where the point is.
// The bits above them are the digits, as a signed integer.
const PlacesBits = 6

const (
	placesMask   = 1<<PlacesBits - 1
	exponentBias = 1 << (PlacesBits - 1)
	maxDecimal   = 1e17 // digits are less: at most 17 of them
)

// packDecimal returns the bits of a decimal. ok is false if it does not fit, or is a negative zero.
func packDecimal(digits uint64, negative bool, places int) (bits uint64, ok bool) {
	if digits >= maxDecimal || uint(places) > placesMask || negative && digits == 0 {
		return 0, false
	}
	if negative {
		digits = -digits
	}
	return digits<<PlacesBits | uint64(places), true
}

// isDecimal reports whether v has TagDecimal or TagExponent.
func isDecimal(v Value) bool { return v.Tag == TagDecimal || v.Tag == TagExponent }

// unpackDecimal returns the digits of a decimal without their sign, and its lowest bits.
func unpackDecimal(v Value) (digits uint64, negative bool, places int) {
	m := int64(v.Bits) >> PlacesBits
	return uint64(max(m, -m)), m < 0, int(v.Bits & placesMask)
}

// decimalNumber returns a decimal as a double, computed like [rpn.ScanNumber] from its text.
func decimalNumber(v Value) float64 {
	digits, negative, places := unpackDecimal(v)
	f := accumulate(digits)
	if negative {
		f = -f
	}
	exponent := -places
	if v.Tag == TagExponent && digits != 0 {
		exponent = places - exponentBias - (countDigits(digits) - 1)
	}
	return rpn.Scale(f, exponent)
}

// countDigits returns how many decimal digits u has; 1 for 0.
func countDigits(u uint64) int {
	n := bits.Len64(u|1) * 1233 >> 12 // about the logarithm
	if u|1 < powers[n] {
		return n
	}
	return n + 1
}

// powers are the powers of ten that fit into 64 bits.
var powers = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// appendDecimal appends the text of a decimal.
func appendDecimal(dst []byte, v Value) []byte {
	digits, negative, places := unpackDecimal(v)
	if negative {
		dst = append(dst, '-')
	}
	var buf [20]byte
	text := strconv.AppendUint(buf[:0], digits, 10)
	if v.Tag == TagDecimal {
		return appendPoint(dst, text, places)
	}
	if digits == 0 {
		return append(appendPoint(dst, text, places), "e+00"...)
	}
	dst = appendPoint(dst, text, len(text)-1)
	exponent := places - exponentBias
	dst = append(dst, 'e', '+')
	if exponent < 0 {
		dst[len(dst)-1] = '-'
		exponent = -exponent
	}
	return append(dst, '0'+byte(exponent/10), '0'+byte(exponent%10))
}

// appendPoint appends digits with a point before the last decimals of them. Missing digits are 0.
func appendPoint(dst, digits []byte, decimals int) []byte {
	whole := len(digits) - decimals
	if whole > 0 {
		dst = append(dst, digits[:whole]...)
		digits = digits[whole:]
	} else {
		dst = append(dst, '0')
	}
	if decimals == 0 {
		return dst
	}
	dst = append(dst, '.')
	for range max(-whole, 0) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// PlainReading is ParseReading for U, integers of up to 19 digits, and decimal numbers of up to 17
// digits, with or without an exponent. It reports whether text is one of these.
func PlainReading(k Kind, text []byte) (Value, bool) {
	if v, n := ScanReading(k, text); n == len(text) && n > 0 {
		return v, true
	}
	return Value{}, false
}

// ScanReading reads what [PlainReading] reads from the beginning of text. n is the number of bytes
// it took; 0: text begins with none of these. Whatever follows is the caller's: the reading may be
// the beginning of a text with another meaning, such as 1 of 1E5.
//
// A number of at most 15 digits that [FormatReading] prints again becomes a double. Any other
// decimal number becomes a Value with TagDecimal or TagExponent.
func ScanReading(k Kind, text []byte) (v Value, n int) {
	negative := len(text) > 0 && text[0] == '-'
	b := text
	if negative {
		b = text[1:]
	}
	u, i := uint64(0), 0
	for i < len(b) && b[i]-'0' <= 9 {
		u = u*10 + uint64(b[i]-'0')
		i++
	}
	point := i
	if i == 0 {
		if !negative && len(b) > 0 && b[0] == 'U' {
			return Unknown, 1
		}
		return Value{}, 0
	}
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && b[i]-'0' <= 9; i++ {
			u = u*10 + uint64(b[i]-'0')
		}
	}
	if i > 19 && significant(b[:i]) > 19 {
		return Value{}, 0 // u has wrapped around
	}
	ok := false
	switch {
	case i < len(b) && b[i] == 'e' && len(b)-i >= 4 && hasDecimals(k):
		v, ok = exponentReading(u, b[:i], b[i+1:i+4], negative)
		i += 4
	case point == i:
		v, ok = integerReading(k, u, b[0] == '0' && (negative || i > 1), negative)
	case hasDecimals(k):
		v, ok = decimalReading(u, b[:i], point, negative)
	}
	if !ok {
		return Value{}, 0
	}
	if negative {
		i++
	}
	return v, i
}

// maxPlain is the length of the longest text that ScanReading reads: a sign, 0, a point and 26
// decimals.
const maxPlain = 1 + 2 + maxDecimals

// maxDecimals keeps decimals within the [LastReading] bytes that are remembered.
const maxDecimals = LastReading - 3

// hasDecimals reports whether a reading of kind k may be other than an integer.
func hasDecimals(k Kind) bool { return k != Counter && k != Derive && k != Compute }

// significant returns how many digits there are behind the zeros that a number begins with.
func significant(number []byte) (n int) {
	for _, c := range number {
		if c != '.' && (n > 0 || c != '0') {
			n++
		}
	}
	return n
}

// integerReading returns the integer u. padded says that its text begins with superfluous zeros.
func integerReading(k Kind, u uint64, padded, negative bool) (Value, bool) {
	switch {
	case padded || negative && (k == Counter || u > math.MaxInt64):
		return Value{}, false
	case negative:
		return Int(-int64(u)), true
	case u > math.MaxInt64:
		return Uint(u), true
	}
	return Int(int64(u)), true
}

// decimalReading returns the number whose digits are u, from a text with a point at the given
// index.
func decimalReading(u uint64, number []byte, point int, negative bool) (Value, bool) {
	decimals := len(number) - 1 - point
	below1 := number[0] == '0'
	if decimals < 1 || decimals > maxDecimals || below1 && point > 1 {
		return Value{}, false
	}
	if u < 1e15 && number[len(number)-1] != '0' && !(below1 && !startsBelow4(number[2:])) {
		f := float64(u)
		if negative {
			f = -f
		}
		return Float(rpn.Scale(f, -decimals)), true
	}
	bits, ok := packDecimal(u, negative, decimals)
	return Value{Bits: bits, Tag: TagDecimal}, ok
}

// startsBelow4 reports whether fewer than four zeros begin the decimals.
func startsBelow4(decimals []byte) bool {
	for i, c := range decimals {
		if c != '0' {
			return i < 4
		}
	}
	return false
}

// exponentReading returns the number whose digits are u. number is what stands before its e, and
// exponent are the three bytes behind it.
func exponentReading(u uint64, number, exponent []byte, negative bool) (Value, bool) {
	if len(number) != 1 && (len(number) < 3 || number[1] != '.') || number[0] == '0' && u != 0 {
		return Value{}, false // as %e and %g never print it
	}
	tens, ones := exponent[1]-'0', exponent[2]-'0'
	if tens > 9 || ones > 9 {
		return Value{}, false
	}
	e := int(tens)*10 + int(ones)
	switch {
	case exponent[0] == '-' && e > 0:
		e = -e
	case exponent[0] != '+':
		return Value{}, false
	}
	places := e + exponentBias
	if u == 0 {
		if e != 0 {
			return Value{}, false
		}
		places = max(len(number)-2, 0)
	}
	bits, ok := packDecimal(u, negative, places)
	return Value{Bits: bits, Tag: TagExponent}, ok
}
