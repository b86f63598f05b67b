package influx

import (
	"math"
	"strconv"

	"github.com/rondo-db/rondo/rra"
)

// maxFast is the mantissa below which a decimal number is the quotient of two exact doubles.
const maxFast = 1 << 53

var powers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
	1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// parseNumber reads the number with which b begins, up to a comma, a space or the end of b. It
// returns how long the number is; 0: b begins otherwise.
func parseNumber(b []byte) (v rra.Value, n int) {
	negative := b[0] == '-'
	if negative {
		n++
	}
	m, digits, point := uint64(0), 0, -1
	for ; n < len(b); n++ {
		c := b[n] - '0'
		if c > 9 {
			if b[n] != '.' || point >= 0 {
				break
			}
			point = digits
			continue
		}
		if digits++; digits > 19 {
			return parseSlow(b)
		}
		m = m*10 + uint64(c)
	}
	if digits == 0 {
		return parseSlow(b)
	}
	if n == len(b) || b[n] == ',' || b[n] == ' ' {
		decimals := 0
		if point >= 0 {
			decimals = digits - point
		}
		if m >= maxFast {
			return parseSlow(b)
		}
		f := float64(m) / powers[decimals]
		if negative {
			f = -f
		}
		return rra.Float(f), n
	}
	if point >= 0 || (b[n] != 'i' && b[n] != 'u') || n+1 < len(b) && b[n+1] != ',' && b[n+1] != ' ' {
		return parseSlow(b)
	}
	switch {
	case b[n] == 'u' && !negative:
		return rra.Uint(m), n + 1
	case b[n] == 'i' && !negative && m <= math.MaxInt64:
		return rra.Int(int64(m)), n + 1
	case b[n] == 'i' && negative && m <= math.MaxInt64+1:
		return rra.Int(int64(-m)), n + 1
	}
	return rra.Unknown, 0
}

// parseSlow is parseNumber for the numbers that are seldom: with an exponent, or many digits.
func parseSlow(b []byte) (v rra.Value, n int) {
	for n < len(b) && b[n] != ',' && b[n] != ' ' {
		n++
	}
	text := b[:n]
	if n > 0 && text[n-1] == 'u' {
		u, err := strconv.ParseUint(string(text[:n-1]), 10, 64)
		if err != nil {
			return rra.Unknown, 0
		}
		return rra.Uint(u), n
	}
	if n > 0 && text[n-1] == 'i' {
		i, err := strconv.ParseInt(string(text[:n-1]), 10, 64)
		if err != nil {
			return rra.Unknown, 0
		}
		return rra.Int(i), n
	}
	for _, c := range text { // no names such as Inf, no hexadecimal digits, no underscores
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return rra.Unknown, 0
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return rra.Unknown, 0
	}
	return rra.Float(f), n
}

// A Unit is the unit of times, in nanoseconds.
type Unit int64

// The units.
const (
	Nanoseconds  Unit = 1
	Microseconds Unit = 1000
	Milliseconds Unit = 1_000_000
	Seconds      Unit = 1_000_000_000
	Minutes      Unit = 60 * Seconds
	Hours        Unit = 60 * Minutes
)

// parseTime reads a time, which may have spaces behind it.
func parseTime(b []byte, unit Unit) (t rra.Time, ok bool) {
	negative := b[0] == '-'
	if negative {
		b = b[1:]
	}
	n, v := 0, uint64(0)
	for ; n < len(b) && b[n]-'0' <= 9; n++ {
		if n >= 19 {
			return 0, false
		}
		v = v*10 + uint64(b[n]-'0')
	}
	if n == 0 || v > math.MaxInt64 || len(skipBlanks(b[n:])) > 0 {
		return 0, false
	}
	i := int64(v)
	if unit < Microseconds {
		i /= int64(Microseconds / unit)
	} else {
		unit /= Microseconds
		if i > math.MaxInt64/int64(unit) {
			return 0, false
		}
		i *= int64(unit)
	}
	if negative {
		i = -i
	}
	return rra.Time(i), true
}

// skipBlanks returns b without the spaces at its beginning.
func skipBlanks(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return b
}
