// Package steps learns the steps of series from the times between their samples.
//
// Senders of Prometheus' and OpenTelemetry's protocols do not say how often they send. So a new
// series begins with a step that is a guess. Its second sample shows the step. If that is another
// one, the series is replaced by one of the right step, which has had the first sample, unless
// somebody else has written to it; see [Replace]. The step is also kept for other series that the
// same source sends; see [Groups].
package steps

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Most is the longest step that is learned, in seconds.
const Most = 3600

// usual are the steps that senders have, in seconds. A time that is within a fifth of one is that
// step, late or early.
var usual = [...]int64{1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600}

// Apart returns the time between two samples as a step in seconds: the nearest usual one if that is
// within a fifth, and else whole seconds, at least 1 and at most Most. It returns 0 if between is
// not above 0.
func Apart(between rra.Time) int64 {
	const second = 1_000_000
	if between <= 0 {
		return 0
	}
	step, nearest := int64(0), rra.Time(math.MaxInt64)
	for _, u := range usual {
		if d := max(between-rra.Seconds(u), rra.Seconds(u)-between); d <= rra.Seconds(u)/5 && d < nearest {
			step, nearest = u, d
		}
	}
	if step != 0 || between >= rra.Seconds(Most) {
		return cmp.Or(step, Most)
	}
	return max(1, (int64(between)+second/2)/second)
}

// maxGroups is how many groups have a step that is remembered.
const maxGroups = 1 << 16

// Groups are the steps of groups of series that are sent equally often, by name. The first step
// that is learned of a group stays. The zero value is ready. A Groups may be used by one goroutine
// at a time.
type Groups struct{ steps map[string]int64 }

// Step returns the step of a group in seconds; 0: it is not known.
func (g *Groups) Step(group string) int64 { return g.steps[group] }

// Learn enters the step that a series of group shows, unless the group has one, and returns the
// step of the group. A step that is not remembered because there are too many groups is returned as
// it is.
func (g *Groups) Learn(group string, step int64) int64 {
	if known := g.steps[group]; known != 0 {
		return known
	}
	if len(g.steps) < maxGroups {
		if g.steps == nil {
			g.steps = make(map[string]int64)
		}
		g.steps[group] = step
	}
	return step
}

// Replacement returns what replaces a series when its second sample shows its step. q asks for the
// series as it was made, but for its step. The series has had its first sample, and before it, if
// zero is not 0, a reading of 0 at that time, because its counter has begun then.
func Replacement(q receivers.Request, zero, at rra.Time, value float64) receivers.Replacement {
	samples := []receivers.Sample{{At: at, Value: receivers.Reading(value)}}
	if zero != 0 {
		samples = slices.Insert(samples, 0, receivers.Sample{At: zero, Value: rra.Float(0)})
	}
	return receivers.Replacement{Request: q, Samples: samples}
}

// Replace has the sink replace series, and waits for it as long as receivers.Asking says. done is
// called with the outcome of each: nil if it was replaced. failed, which may be nil, is the first
// thing that went wrong. That somebody else has written a series is nothing wrong.
func Replace(ctx context.Context, sink receivers.Sink, rs []receivers.Replacement, done func(i int, err error)) (failed error) {
	ctx, cancel := receivers.Asking(ctx)
	defer cancel()
	all := sink.Replace(ctx, rs)
	for i := range rs {
		err := cmp.Or(all, rs[i].Err)
		if failed == nil && !errors.Is(err, receivers.ErrChanged) {
			failed = err
		}
		done(i, err)
	}
	return failed
}
