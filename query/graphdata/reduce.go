package graphdata

import (
	"math"

	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// A reducer combines rows of an archive into rows of a coarser step, for one column. The first or
// last row is unknown if a part of it is missing.
type reducer struct {
	elem   int // index of the DEF
	ds     int // index of the data source
	series rpn.Series
	factor int64 // archive rows in one row of the column
	seen   int64 // archive rows of the open row that have passed
	whole  bool  // the open row has its first archive row
	open   fold  // the known values of the open row
}

// A fold combines known values into one, as a consolidation function does.
type fold struct {
	cf    rra.CF
	n     int64
	value float64
}

func newReducer(plan *query.Plan, cf rra.CF, factor int64, elem, ds int) *reducer {
	step := plan.Step * factor
	values := make([]float64, 0, reducedRows(plan, factor))
	r := &reducer{elem: elem, ds: ds, open: fold{cf: cf}, factor: factor, series: rpn.Series{Start: query.Floor(plan.Start, step), Step: step, Values: values}}
	r.seen = (plan.Start - r.series.Start) / plan.Step
	r.whole = r.seen == 0
	return r
}

// reducedRows is how many rows a column has whose rows are factor rows of an archive.
func reducedRows(plan *query.Plan, factor int64) int64 {
	step := plan.Step * factor
	return (query.Ceil(plan.End, step) - query.Floor(plan.Start, step)) / step
}

// add adds the rows of a table.
func (r *reducer) add(t *query.Table) {
	width := len(t.DS)
	if r.factor == 1 {
		for i := r.ds; i < len(t.Values); i += width {
			r.series.Values = append(r.series.Values, t.Values[i])
		}
		return
	}
	for i := r.ds; i < len(t.Values); i += width {
		r.open.add(t.Values[i])
		if r.seen++; r.seen == r.factor {
			r.close()
		}
	}
}

// add combines one more value, if it is known.
func (f *fold) add(v float64) {
	if v != v {
		return
	}
	f.n++
	if f.n == 1 || f.value != f.value { // as in rrdtool, anew behind infinities of both signs
		f.value = v
		return
	}
	switch f.cf {
	case rra.Min:
		if v <= f.value { // of two zeros the later one stays, whatever its sign
			f.value = v
		}
	case rra.Max, rra.Failures:
		if v >= f.value {
			f.value = v
		}
	case rra.Last:
		f.value = v
	default:
		f.value += v
	}
}

// result returns what the values give, or NaN if there was none.
func (f *fold) result() float64 {
	switch {
	case f.n == 0:
		return math.NaN()
	case f.cf == rra.Min, f.cf == rra.Max, f.cf == rra.Last, f.cf == rra.Failures:
		return f.value
	}
	return f.value / float64(f.n)
}

// close appends the open row and begins the next.
func (r *reducer) close() {
	v := math.NaN()
	if r.whole {
		v = r.open.result()
	}
	r.series.Values = append(r.series.Values, v)
	r.seen, r.open.n, r.whole = 0, 0, true
}

// finish ends an incomplete last row as unknown and returns the column.
func (r *reducer) finish() rpn.Series {
	if r.seen > 0 {
		r.whole = false
		r.close()
	}
	return r.series
}

// The limits of one DEF.
const (
	MaxRows    = rpn.MaxRows // rows of the column
	maxFetched = 1 << 28     // rows of the archive that are read for it
)
