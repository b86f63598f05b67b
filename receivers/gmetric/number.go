package gmetric

import (
	"math"
	"strconv"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A syntax says which kind of number a text is.
type syntax uint8

const (
	noNumber syntax = iota
	integer         // digits, with or without a sign
	fraction        // a decimal number with a point or an exponent
)

var (
	errNoNumber  = &receivers.Error{Reason: receivers.Malformed, What: "value is no decimal number"}
	errNoInteger = &receivers.Error{Reason: receivers.Malformed, What: "value of a counter is no whole number"}
	errTooLarge  = &receivers.Error{Reason: receivers.Limit, What: "value of a counter is beyond 64 bits"}
	errFloat     = &receivers.Error{Reason: receivers.State, What: "a float where the series counts whole numbers"}
)

// ParseValue parses a value that was sent as a text, for a data source of kind k: a decimal number
// with or without blanks around it. COUNTER and DERIVE take whole numbers of at most 64 bits,
// exactly. The other kinds take the nearest double; a number that is too large for a double is
// unknown. Errors are of type *receivers.Error.
func ParseValue(k rra.Kind, text []byte) (rra.Value, error) {
	text, kind := scan(text)
	if kind == noNumber {
		return rra.Unknown, errNoNumber
	}
	if k != rra.Counter && k != rra.Derive {
		f, _ := strconv.ParseFloat(string(text), 64) // out of range is an infinity
		return finite(f), nil
	}
	if kind != integer {
		return rra.Unknown, errNoInteger
	}
	if text[0] != '-' {
		if text[0] == '+' {
			text = text[1:]
		}
		u, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil {
			return rra.Unknown, errTooLarge
		}
		return rra.Uint(u), nil
	}
	i, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return rra.Unknown, errTooLarge
	}
	return rra.Int(i), nil
}

// finite returns f as a value: unknown if f is NaN or infinite.
func finite(f float64) rra.Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return rra.Unknown
	}
	return rra.Float(f)
}

// convert returns a number that was sent in binary as a value for a data source of kind k.
func convert(k rra.Kind, v rra.Value) (rra.Value, error) {
	counts := k == rra.Counter || k == rra.Derive
	switch v.Tag {
	case rra.TagFloat:
		if counts {
			return rra.Unknown, errFloat
		}
		return finite(math.Float64frombits(v.Bits)), nil
	case rra.TagInt:
		if !counts {
			return rra.Float(float64(int64(v.Bits))), nil
		}
	case rra.TagUint:
		if !counts {
			return rra.Float(float64(v.Bits)), nil
		}
	}
	return v, nil
}

// appendNumber appends a number that was sent in binary as a text.
func appendNumber(dst []byte, v rra.Value) []byte {
	switch v.Tag {
	case rra.TagInt:
		return strconv.AppendInt(dst, int64(v.Bits), 10)
	case rra.TagUint:
		return strconv.AppendUint(dst, v.Bits, 10)
	}
	return strconv.AppendFloat(dst, math.Float64frombits(v.Bits), 'g', -1, 64)
}

// scan returns text without the blanks around it, and its syntax.
func scan(text []byte) ([]byte, syntax) {
	for len(text) > 0 && blank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && blank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	i := 0
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		i++
	}
	kind := integer
	n := digits(text[i:])
	i += n
	if i < len(text) && text[i] == '.' {
		kind = fraction
		i++
		m := digits(text[i:])
		i, n = i+m, n+m
	}
	if n == 0 {
		return text, noNumber
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		kind = fraction
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if n = digits(text[i:]); n == 0 {
			return text, noNumber
		}
		i += n
	}
	if i < len(text) {
		return text, noNumber
	}
	return text, kind
}

// digits returns the number of digits at the beginning of b.
func digits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}

// blank reports whether c is one of C's isspace.
func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
