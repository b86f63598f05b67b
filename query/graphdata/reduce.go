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
	rows   int64 // rows of the finished column
	cf     rra.CF
	factor int64   // archive rows in one row of the column
	seen   int64   // archive rows of the open row that have passed
	whole  bool    // the open row has its first archive row
	n      int64   // known values in the open row
	value  float64 // their combination so far
}

func newReducer(plan *query.Plan, cf rra.CF, factor int64, elem, ds int) *reducer {
	step := plan.Step * factor
	r := &reducer{elem: elem, ds: ds, cf: cf, factor: factor, series: rpn.Series{Start: floor(plan.Start, step), Step: step}}
	r.rows = reducedRows(plan, factor)
	r.seen = (plan.Start - r.series.Start) / plan.Step
	r.whole = r.seen == 0
	if r.rows <= MaxRows {
		r.series.Values = make([]float64, 0, r.rows)
	}
	return r
}

// reducedRows is how many rows a column has whose rows are factor rows of an archive.
func reducedRows(plan *query.Plan, factor int64) int64 {
	step := plan.Step * factor
	return (floor(plan.End+step-1, step) - floor(plan.Start, step)) / step
}

func floor(t, step int64) int64 {
	m := t % step
	if m < 0 {
		m += step
	}
	return t - m
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
		r.fold(t.Values[i])
		if r.seen++; r.seen == r.factor {
			r.close()
		}
	}
}

// fold combines the value of an archive row with the open row.
func (r *reducer) fold(v float64) {
	if v != v {
		return
	}
	r.n++
	if r.n == 1 || r.value != r.value { // as in rrdtool, anew behind infinities of both signs
		r.value = v
		return
	}
	switch r.cf {
	case rra.Min:
		if v <= r.value { // of two zeros the later one stays, whatever its sign
			r.value = v
		}
	case rra.Max, rra.Failures:
		if v >= r.value {
			r.value = v
		}
	case rra.Last:
		r.value = v
	default:
		r.value += v
	}
}

// close appends the open row and begins the next.
func (r *reducer) close() {
	v := r.value
	switch {
	case r.n == 0 || !r.whole:
		v = math.NaN()
	case r.cf != rra.Min && r.cf != rra.Max && r.cf != rra.Last && r.cf != rra.Failures:
		v /= float64(r.n)
	}
	r.series.Values = append(r.series.Values, v)
	r.seen, r.n, r.whole = 0, 0, true
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
