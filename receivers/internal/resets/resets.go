// Package resets finds where a counter has begun again from zero.
//
// A counter of Prometheus or OpenTelemetry counts from zero when its program starts anew. rrdtool
// has no such data source: COUNTER takes a fall for an overflow, and DERIVE with a minimum of 0
// makes the time around a fall unknown. So a receiver stores such a counter in a data source
// DDERIVE with a minimum of 0, and puts one reading of 0 before the first sample after a reset. The
// fall to that 0 is unknown for a microsecond, which counts as no second at all. All that the
// counter has counted since is a rate again:
//
//	10:00:00           900
//	10:00:10           950
//	10:00:10.000001    0      put in
//	10:00:20           30     3 a second, as if the program had started at 10:00:10
//
// The store keeps the readings as they came, and nothing has to be remembered beside the last one.
// So a restart of rondo loses nothing: [Counter] comes from the last reading of the series.
package resets

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

// A Counter is the last sample of a counter.
type Counter struct {
	At    rra.Time
	Value float64 // NaN: unknown, as in a new series or after the end of one
}

// Zero reports whether a reading of 0 must be stored before the sample value at the time at, and at
// what time: the counter has begun again since its last sample, or has begun altogether. created is
// the time at which the sender says that the counter began; 0: it does not say. The time of the 0
// is after c.At and before at.
func (c Counter) Zero(at rra.Time, value float64, created rra.Time) (zero rra.Time, ok bool) {
	if math.IsNaN(value) || at <= c.At {
		return 0, false
	}
	since := created > c.At && created <= at
	if math.IsNaN(c.Value) {
		return created, since && created < at
	}
	return c.At + 1, (value < c.Value || since) && c.At+1 < at
}
