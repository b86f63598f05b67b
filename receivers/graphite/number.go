package graphite

import (
	"strconv"
	"strings"
	"unsafe"
)

// tens are the powers of ten that a float64 holds exactly.
var tens = [...]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

const (
	exact     = 1 << 53 // whole numbers up to this are exact in a float64
	maxDigits = 18      // digits whose number certainly fits in 63 bits
)

// digits reads a number of decimal digits and nothing else.
func digits(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 12 {
		return 0, false
	}
	for _, c := range text {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	return n, true
}

// parseNumber reads a decimal number, NaN or an infinity, as Python's float does. Most numbers have
// few digits and no exponent: they are the quotient of two numbers that a float64 holds exactly,
// and so is the result as exact as that of strconv.ParseFloat.
func parseNumber(text []byte) (float64, bool) {
	rest := text
	negative := false
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		negative = rest[0] == '-'
		rest = rest[1:]
	}
	if len(rest) == 0 || len(rest) > maxDigits+1 {
		return slowNumber(text)
	}
	n, point := uint64(0), -1
	for i, c := range rest {
		if d := c - '0'; d <= 9 {
			n = n*10 + uint64(d)
			continue
		}
		if c != '.' || point >= 0 {
			return slowNumber(text)
		}
		point = i
	}
	if n > exact || point >= 0 && len(rest) == 1 {
		return slowNumber(text)
	}
	v := float64(n)
	if point >= 0 {
		v /= tens[len(rest)-1-point]
	}
	if negative {
		v = -v
	}
	return v, true
}

// maxNumber is the length of the longest number, in bytes.
const maxNumber = 512

// slowNumber reads every number that parseNumber may be given. strconv reads more than Python does:
// hexadecimal numbers and numbers with underscores, which are refused here.
func slowNumber(text []byte) (float64, bool) {
	if len(text) == 0 || len(text) > maxNumber {
		return 0, false
	}
	s := unsafe.String(&text[0], len(text))
	if strings.ContainsAny(s, "xXpP_") {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && (v == 0 || v-v == 0) { // a number that is too large is infinite
		return 0, false
	}
	return v, true
}
