package rra

import (
	"errors"
	"math"
	"math/bits"
)

// Errors of durations and counts, with rrdtool's texts.
var (
	errNotPositiveNumber = errors.New("value must be (suffixed) positive number")
	errNotPositive       = errors.New("value must be positive")
	errTrailing          = errors.New("value has trailing garbage")
	errTruncates         = errors.New("value would truncate when scaled")
)

// errTooLarge is rondo's own error: rrdtool takes such a number modulo 2^64.
var errTooLarge = &FieldError{"duration", "value is too large"}

// units are the suffixes of durations, in seconds.
var units = map[byte]uint64{
	's': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 7 * 86400, 'M': 31 * 86400, 'y': 366 * 86400,
}

// ParseDuration parses a duration as rrdtool does for steps, heartbeats and resolutions, and
// returns seconds. A duration is a positive number with one of the suffixes s, m, h, d, w, M (31
// days) and y (366 days); without a suffix it is in seconds. As in rrdtool, text behind the suffix
// is ignored.
func ParseDuration(text string) (int64, error) { return ParseScaled(text, 1) }

// ParseScaled parses a number of units of divisor seconds. A number without a suffix is the result
// itself. A number with a suffix is a duration, which must be a multiple of divisor.
func ParseScaled(text string, divisor int64) (int64, error) {
	i := 0
	var v, over uint64
	for i < len(text) && isDigit(text[i]) {
		hi, lo := bits.Mul64(v, 10)
		sum, carry := bits.Add64(lo, uint64(text[i]-'0'), 0)
		over |= hi | carry
		v = sum
		i++
	}
	switch {
	case i == 0:
		return 0, errNotPositiveNumber
	case v == 0 && over == 0:
		if i == len(text) || units[text[i]] != 0 {
			return 0, errNotPositive
		}
		return 0, errTrailing
	}
	if i < len(text) {
		unit, ok := units[text[i]]
		if !ok {
			return 0, errTrailing
		}
		hi, lo := bits.Mul64(v, unit)
		over |= hi
		v = lo
		if over == 0 && divisor > 0 {
			if v%uint64(divisor) != 0 {
				return 0, errTruncates
			}
			v /= uint64(divisor)
		}
	}
	if over != 0 || v > math.MaxInt64 {
		return 0, errTooLarge
	}
	return int64(v), nil
}
