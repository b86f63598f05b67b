// Package decimal reads the numbers of protocols of text, without allocation.
package decimal

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
	// Exact is the largest whole number up to which all are exact in a float64.
	Exact     = 1 << 53
	maxDigits = 18 // digits whose number certainly fits in 63 bits
)

// Digits reads a number of decimal digits and nothing else, at most 12 of them.
func Digits(text []byte) (n int64, ok bool) {
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

// Parse reads a decimal number, NaN or an infinity, as Python's float does. Most numbers have few
// digits and no exponent: they are the quotient of two numbers that a float64 holds exactly, and so
// the result is as exact as strconv.ParseFloat's.
func Parse(text []byte) (float64, bool) {
	rest := text
	negative := false
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		negative = rest[0] == '-'
		rest = rest[1:]
	}
	if len(rest) == 0 || len(rest) > maxDigits+1 {
		return slow(text)
	}
	n, point := uint64(0), -1
	for i, c := range rest {
		if d := c - '0'; d <= 9 {
			n = n*10 + uint64(d)
			continue
		}
		if c != '.' || point >= 0 {
			return slow(text)
		}
		point = i
	}
	if n > Exact || point >= 0 && len(rest) == 1 {
		return slow(text)
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

// MaxNumber is the length of the longest number, in bytes. All digits of a float64 are fewer.
const MaxNumber = 1100

// slow reads every number that Parse may be given. strconv reads more than Python does:
// hexadecimal numbers and numbers with underscores, which are refused here.
func slow(text []byte) (float64, bool) {
	if len(text) == 0 || len(text) > MaxNumber {
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
