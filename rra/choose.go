package rra

import "errors"

// ErrNoArchive says that no archive has the consolidation function that was asked for. The text is
// rrdtool's.
var ErrNoArchive = errors.New("the RRD does not contain an RRA matching the chosen CF")

// Choose returns the index of the archive of d that rrdtool takes for rows of cf from the second
// start on, with about resolution seconds in each row. last is the second of the last update.
//
// An archive that reaches back to start is better than one that does not. Among archives that do,
// the one with the nearest resolution is best. Among archives that do not, the one that reaches
// back farthest is best, and then the one with the nearest resolution. The first of equal archives
// wins. The end of the range does not matter.
func (d *Definition) Choose(last int64, cf CF, start, resolution int64) (int, error) {
	return d.choose(last, cf, start, func(step int64) int64 { return max(step-resolution, resolution-step) })
}

// choose returns the index of the first archive that reaches back farthest, but not behind start,
// and of those the one whose seconds in a row off makes the least number.
func (d *Definition) choose(last int64, cf CF, start int64, off func(step int64) int64) (int, error) {
	best, bestMiss, bestOff := -1, int64(0), int64(0)
	for i := range d.Archives {
		a := &d.Archives[i]
		if !a.Serves(cf) {
			continue
		}
		from, _ := d.Window(i, last)
		miss, o := max(0, from-start), off(d.Step*a.PDPs)
		if best < 0 || miss < bestMiss || miss == bestMiss && o < bestOff {
			best, bestMiss, bestOff = i, miss, o
		}
	}
	if best < 0 {
		return 0, ErrNoArchive
	}
	return best, nil
}

// Serves reports whether the rows of a are rows of cf. AVERAGE, MIN, MAX and LAST of one PDP are
// the same.
func (a *Archive) Serves(cf CF) bool {
	return a.CF == cf || a.PDPs == 1 && a.CF <= Last && cf <= Last
}

// Window returns the range (from, to] of seconds whose rows an archive holds after an update at the
// second last.
func (d *Definition) Window(archive int, last int64) (from, to int64) {
	a := &d.Archives[archive]
	span := d.Step * a.PDPs
	to = last - last%span
	if last%span < 0 {
		to -= span
	}
	return to - span*a.Rows, to
}

// ChooseFiner returns the index of the archive of d that serves rows of cf from the second start on
// with at least one row every resolution seconds, and with no more rows than that needs: the
// coarsest archive that is fine enough.
//
// An archive that reaches back to start is better than one that does not. Among archives that do,
// the coarsest one that is fine enough is best; if none is fine enough, the finest is. Among
// archives that do not reach back, the one that reaches back farthest is best.
func (d *Definition) ChooseFiner(last int64, cf CF, start, resolution int64) (int, error) {
	return d.choose(last, cf, start, func(step int64) int64 {
		if step <= resolution { // fine enough: better than any that is not
			return -step
		}
		return step
	})
}
