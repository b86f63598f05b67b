package reshape

import (
	"cmp"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// An asking is what archives are asked for: rows of a CF, of span seconds each.
type asking struct {
	cf   rra.CF
	span int64
}

// An archive is what the order of asking depends on.
type archive struct {
	index int // in its series
	cf    rra.CF
	span  int64 // seconds a row
	rows  int64
}

// takes reports whether archives of a CF are asked.
func (q asking) takes(cf rra.CF) bool { return cf == q.cf || cf == rra.Average }

// order puts the archives of one series in the order in which create asks them: first those whose
// rows are as the wanted ones, then archives of AVERAGE, finer before coarser, longer before
// shorter. Which of several equal ones is asked first shows where it lacks rows that another has,
// and so order follows rrdtool there, too: it sorts twice, first stably, and then with a quicksort,
// which is not stable. That is known from experiments with archives that each know other rows.
func (q asking) order(archives []archive) {
	slices.SortStableFunc(archives, compareRows)
	q.quicksort(archives)
}

// quicksort is Hoare's (Quicksort, 1962), with the first archive as the pivot. Archives that equal
// the pivot stay on the side on which they are. It compares n² times at most, for n archives. A
// series has rra.MaxArchives.
func (q asking) quicksort(archives []archive) {
	if len(archives) < 2 {
		return
	}
	pivot := archives[0]
	last := len(archives) - 1
	i, j := 0, last
	for {
		for i < last && q.compare(archives[i], pivot) <= 0 {
			i++
		}
		for j > i && q.compare(archives[j], pivot) >= 0 {
			j--
		}
		if i >= j {
			break
		}
		archives[i], archives[j] = archives[j], archives[i]
	}
	end := i // the last that does not come after the pivot
	if q.compare(archives[i], pivot) > 0 {
		end--
	}
	archives[0], archives[end] = archives[end], archives[0]
	q.quicksort(archives[:i])
	q.quicksort(archives[i:])
}

// compare is negative if a comes before b, and 0 if they are equal. An archive with the wanted rows
// comes before every other, even before another such archive.
func (q asking) compare(a, b archive) int {
	switch {
	case q.wants(a):
		return -1
	case q.wants(b):
		return 1
	}
	return cmp.Or(compareCF(a.cf, b.cf), compareRows(a, b))
}

// wants reports whether the rows of a are as the wanted ones.
func (q asking) wants(a archive) bool { return a.cf == q.cf && a.span == q.span }

// compareCF is negative if only a is AVERAGE.
func compareCF(a, b rra.CF) int { return cmp.Compare(min(a, rra.Min), min(b, rra.Min)) }

// compareRows is negative if the rows of a are finer than b's, or as fine and of a longer time.
func compareRows(a, b archive) int {
	return cmp.Or(cmp.Compare(a.span, b.span), cmp.Compare(b.rows, a.rows))
}
