package query

import (
	"errors"

	"github.com/rondo-db/rondo/rra"
)

// ErrNoArchive says that no archive consolidates as asked. The text is rrdtool's.
var ErrNoArchive = errors.New("the RRD does not contain an RRA matching the chosen CF")

// Choose returns the index of the archive of d that rrdtool would take for rows
// of cf from the second start on, at about resolution seconds a row. last is the
// second of the last update.
//
// Archives that reach back to start come before those that do not; among the
// former the nearest resolution wins, among the latter the longest reach, then
// the nearest resolution; the first of equals. The end of the range does not
// matter.
func Choose(d *rra.Definition, last int64, cf rra.CF, start, resolution int64) (int, error) {
	best, bestCovers := -1, false
	var bestMiss, bestOff int64
	for i := range d.Archives {
		a := &d.Archives[i]
		if !serves(a, cf) {
			continue
		}
		from, _ := window(d, i, last)
		step := d.Step * a.PDPs
		miss := max(0, from-start)
		off := step - resolution
		if off < 0 {
			off = -off
		}
		covers := miss == 0
		switch {
		case best < 0, covers && !bestCovers:
		case covers != bestCovers:
			continue
		case covers && off >= bestOff:
			continue
		case !covers && (miss > bestMiss || miss == bestMiss && off >= bestOff):
			continue
		}
		best, bestCovers, bestMiss, bestOff = i, covers, miss, off
	}
	if best < 0 {
		return 0, ErrNoArchive
	}
	return best, nil
}

// serves reports whether the rows of a are rows of cf. With one primary data
// point a row, AVERAGE, MIN, MAX and LAST are the same.
func serves(a *rra.Archive, cf rra.CF) bool {
	return a.CF == cf || a.PDPs == 1 && a.CF <= rra.Last && cf <= rra.Last
}

// window returns the range (from, to] whose rows archive i holds.
func window(d *rra.Definition, i int, last int64) (from, to int64) {
	a := &d.Archives[i]
	step := d.Step * a.PDPs
	to = floor(last, step)
	return to - step*a.Rows, to
}

// floor rounds t down to a multiple of step.
func floor(t, step int64) int64 {
	r := t % step
	if r < 0 {
		r += step
	}
	return t - r
}
