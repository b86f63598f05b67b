// Package steps finds the steps of series by the times between their samples.
package steps

import (
	"cmp"
	"math"

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
