package query

import "github.com/rondo-db/rondo/rra"

// ErrNoArchive says that no archive consolidates as asked. The text is rrdtool's.
var ErrNoArchive = rra.ErrNoArchive

// Choose is [rra.Definition.Choose].
func Choose(d *rra.Definition, last int64, cf rra.CF, start, resolution int64) (int, error) {
	return d.Choose(last, cf, start, resolution)
}

// floor rounds t down to a multiple of step.
func floor(t, step int64) int64 {
	r := t % step
	if r < 0 {
		r += step
	}
	return t - r
}
