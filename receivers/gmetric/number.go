package gmetric

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
	"github.com/rondo-db/rondo/rra"
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
	f, ok := parse(text)
	if !ok {
		return rra.Unknown, errNoNumber
	}
	if k != rra.Counter && k != rra.Derive {
		return receivers.Finite(f), nil
	}
	digits := string(bytes.TrimPrefix(bytes.Trim(text, blanks), []byte("+")))
	u, err := strconv.ParseUint(digits, 10, 64)
	v := rra.Uint(u)
	if digits[0] == '-' {
		var i int64
		i, err = strconv.ParseInt(digits, 10, 64)
		v = rra.Int(i)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return rra.Unknown, errTooLarge
	case err != nil:
		return rra.Unknown, errNoInteger
	}
	return v, nil
}

// blanks are what C's isspace holds for a blank.
const blanks = " \t\n\v\f\r"

// parse reads a decimal number with or without blanks around it. One that is too large is infinite.
func parse(text []byte) (f float64, ok bool) {
	text = bytes.Trim(text, blanks)
	if digits := bytes.TrimLeft(text, "+-"); len(digits) == 0 || digits[0] > '9' { // a word
		return 0, false
	}
	return decimal.Parse(text)
}

// convert returns a number that was sent in binary as a value for a data source of kind k.
func convert(k rra.Kind, v rra.Value) (rra.Value, error) {
	counts := k == rra.Counter || k == rra.Derive
	switch v.Tag {
	case rra.TagFloat:
		if counts {
			return rra.Unknown, errFloat
		}
		return receivers.Finite(math.Float64frombits(v.Bits)), nil
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
