package rrdcached

import (
	"bytes"
	"errors"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/rra"
)

// leadingInt reads the number that a text begins with, as C's atoi does. It returns 0 for a text
// that begins with anything else. A number that does not fit becomes -1 or 0, as in glibc on 64
// bits.
func leadingInt(text []byte) int {
	n, _, overflow := numeral.Scan(text, 10)
	if overflow && n > 0 {
		return -1
	}
	return int(int32(n))
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
