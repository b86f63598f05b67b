package rrdcached

import (
	"bytes"
	"errors"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// leadingInt reads the number that a text begins with, as C's atoi does. It returns 0 for a text
// that begins with anything else. A number that does not fit becomes -1 or 0, as in glibc on 64
// bits.
func leadingInt(text []byte) int {
	n, _, overflow := scanInt(text, 10)
	if overflow && n > 0 {
		return -1
	}
	return int(int32(n))
}

// scanInt reads the integer that a text begins with, as C's strtol does. Base 0 accepts the
// prefixes 0x and 0. used is the number of bytes read; it is 0 if the text begins with no integer.
func scanInt(text []byte, base int) (v int64, used int, overflow bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || '\t' <= text[i] && text[i] <= '\r') {
		i++
	}
	negative := false
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		negative = text[i] == '-'
		i++
	}
	if base == 0 {
		base = 10
		if i < len(text) && text[i] == '0' {
			base = 8
			if i+2 < len(text) && text[i+1]|0x20 == 'x' && digit(text[i+2]) < 16 {
				base = 16
				i += 2
			}
		}
	}
	start := i
	for ; i < len(text) && digit(text[i]) < base; i++ {
		d := int64(digit(text[i]))
		if v > (math.MaxInt64-d)/int64(base) {
			overflow = true
			continue
		}
		v = v*int64(base) + d
	}
	if i == start {
		return 0, 0, false
	}
	switch {
	case overflow && negative:
		return math.MinInt64, i, true
	case overflow:
		return math.MaxInt64, i, true
	case negative:
		v = -v
	}
	return v, i, false
}

func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}

// errTime says that a text is not a time.
var errTime = errors.New("is no time")

// parseTime reads a time as rrdtool reads a number. sec is the number before it is rounded to
// microseconds.
func parseTime(text []byte) (at rra.Time, sec float64, err error) {
	if len(text) == 0 {
		return 0, 0, errTime
	}
	sec, err = rra.ParseNumber(string(text))
	if err != nil || sec != sec || math.IsInf(sec, 0) && !bytes.ContainsAny(text, "0123456789") {
		return 0, 0, errTime
	}
	whole := math.Floor(sec)
	switch {
	case whole >= float64(core.MaxTime)/1e6+1:
		return core.MaxTime + 1, sec, nil
	case whole <= -float64(core.MaxTime)/1e6:
		return -core.MaxTime, sec, nil // earlier than every sample
	}
	return rra.Seconds(int64(whole)) + rra.Time((sec-whole)*1e6), sec, nil
}

// firstSecond is the earliest start of a series: about 1980.
const firstSecond = 10 * 365 * 24 * 60 * 60
