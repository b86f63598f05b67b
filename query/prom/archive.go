package prom

import (
	"strings"

	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/rra"
)

// A selector reads the rows of one archive of each series: the coarsest one whose rows are fine
// enough, among those that reach back to the start of the range, or to the first row of the series.
// If none reaches back, the one that reaches back farthest answers. Of a young series, with few of
// its rows in the range, or none, a finer one does: the coarsest that has enough. When a series
// began is known before it is read. One that was silent until then is read again. What an archive
// does not know of a row, the others fill in (query.Join). The last row ends at the last update.
//
// What is fine enough depends on the query. A range query with a step of 5 minutes shows a value
// every 5 minutes, so that rows of 5 minutes are fine enough; their values are true averages.
// Within a range as [1h], coarser rows give the same average, maximum, minimum or rate of a counter
// if the range has enough of them. Functions that look at single samples, such as count_over_time
// and stddev_over_time, take the finest rows.

// rowsInRange is how many rows a range has at least, where finer rows would give the same result.
const rowsInRange = 10

// cfOf returns the consolidation function that answers a selector best.
func cfOf(sel *selector, hints *storage.SelectHints) rra.CF {
	switch {
	case sel.forced:
		return sel.cf
	case hints == nil:
	case hints.Func == "max_over_time":
		return rra.Max
	case hints.Func == "min_over_time":
		return rra.Min
	}
	return rra.Average
}

// resolutionOf returns how wide rows may be, in seconds, for a query with the given hints.
func resolutionOf(hints *storage.SelectHints) int64 {
	switch {
	case hints == nil:
		return 1
	case hints.Range == 0:
		return max(hints.Step/1000, 1)
	}
	switch hints.Func {
	case "avg_over_time", "max_over_time", "min_over_time", "rate", "increase", "delta", "deriv":
		return max(hints.Range/1000/rowsInRange, 1)
	}
	return 1
}

// choose returns the index of the archive of d that answers, and the consolidation function that it
// answers with, or -1: no archive has a fitting function. last and start are seconds: of the last
// update and of the first row.
func choose(d *rra.Definition, cf rra.CF, forced bool, last, start, resolution int64) (int, rra.CF) {
	for _, c := range [...]rra.CF{cf, rra.Average, rra.Last, rra.Max, rra.Min} {
		if i, err := d.ChooseFiner(last, c, start, resolution); err == nil {
			return i, c
		}
		if forced {
			break
		}
	}
	return -1, cf
}

// finer returns the index of the archive of cf whose rows are the next finer ones, or -1.
func finer(d *rra.Definition, cf rra.CF, archive int) int {
	best := -1
	for i := range d.Archives {
		a := &d.Archives[i]
		if !a.Serves(cf) || a.PDPs >= d.Archives[archive].PDPs {
			continue
		}
		if best < 0 || a.PDPs > d.Archives[best].PDPs || a.PDPs == d.Archives[best].PDPs && a.Rows > d.Archives[best].Rows {
			best = i
		}
	}
	return best
}

// wantsData reports whether a selector wants samples, not only labels.
func wantsData(hints *storage.SelectHints) bool {
	return hints == nil || !strings.EqualFold(hints.Func, "series")
}
