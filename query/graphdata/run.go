package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// Bounds of one DEF.
const (
	MaxRows    = rpn.MaxRows // rows of the column
	maxFetched = 1 << 28     // rows of the archive that it is made of
)

// Run fetches all DEFs, and then calculates CDEFs, VDEFs and SHIFTs in the order in which they were
// added.
func (p *Program) Run(ctx context.Context, s Source) error {
	for i := range p.elems {
		if p.elems[i].kind == DEF && p.elems[i].series.Step == 0 {
			if err := p.fetch(ctx, s, i); err != nil {
				return err
			}
		}
	}
	for i := range p.elems {
		e := &p.elems[i]
		switch e.kind {
		case CDEF:
			if err := p.calculate(e); err != nil {
				return err
			}
		case VDEF:
			var v float64
			v, e.at, e.timed = e.statistic.At(p.elems[e.of].series)
			e.series = rpn.Series{Values: []float64{v}}
		case SHIFT:
			p.shift(e)
		}
	}
	return nil
}

func (p *Program) calculate(e *element) error {
	vars := make([]rpn.Series, len(e.vars))
	for i, v := range e.vars {
		vars[i] = p.elems[v].series
	}
	var err error
	e.series, err = e.rpn.EvalColumns(vars, rpn.Options{Now: p.options.Now.Unix(), Location: p.options.Now.Location(), WeekStart: p.options.WeekStart})
	return err
}

// shift moves a column in time, by whole rows. It takes the place of an earlier shift of the same
// column.
func (p *Program) shift(e *element) {
	by := e.offset
	if e.by >= 0 {
		by = seconds(p.elems[e.by].series.Values[0])
	}
	of := &p.elems[e.of]
	if of.series.Step > 0 {
		by -= by % of.series.Step
	}
	if limit := int64(1) << 55; by > limit || by < -limit {
		by = 0 // rrdtool has no such times either
	}
	of.series.Start += by - of.shift
	of.shift = by
}

// seconds is C's conversion on the machines rrdtool runs on.
func seconds(v float64) int64 {
	if !(v >= math.MinInt64 && v < math.MaxInt64) {
		return math.MinInt64
	}
	return int64(v)
}

// fetch fetches the rows of DEF i, and columns of the same rows for the DEFs behind it.
func (p *Program) fetch(ctx context.Context, s Source, i int) error {
	d := p.elems[i].def
	store, ref, err := s.Open(ctx, d.file, d.daemon)
	if err != nil {
		return err
	}
	plan, err := query.NewPlan(store, ref, query.Request{CF: d.cf, Start: d.start, End: d.end, Resolution: d.step})
	if err != nil {
		return err
	}
	factor := int64(1)
	if want := max(p.options.Step, d.step); plan.Step < want {
		factor = (want-1)/plan.Step + 1
	}
	if factor&(factor-1) != 0 && plan.Start%(plan.Step*factor) != 0 && plan.End < floor(plan.Start, plan.Step*factor)+plan.Step*factor {
		// The range lies inside one row. rrdtool then counts minus factor rows, in 64 bits without
		// a sign, and goes on if that is a multiple of factor.
		return fmt.Errorf("SANITY CHECK: %d rows cannot be reduced by %d \n", -uint64(factor), factor)
	}
	ds := slices.Index(plan.DS, d.ds)
	if ds < 0 {
		return fmt.Errorf("No DS called '%s' in '%s'", d.ds, d.file)
	}
	columns := []*reducer{newReducer(plan, d.reduce, factor, i, ds)}
	switch r := columns[0]; {
	case r.rows > MaxRows:
		return &query.RangeError{Rows: r.rows, Most: MaxRows}
	case plan.Rows() > maxFetched:
		return &query.RangeError{Rows: plan.Rows(), Most: maxFetched}
	}
	for k := i + 1; k < len(p.elems) && len(columns) < len(plan.DS); k++ {
		if o := p.elems[k].def; o != nil && o.sameRows(d, plan.Step*factor) && p.elems[k].series.Step == 0 {
			if ds := slices.Index(plan.DS, o.ds); ds >= 0 {
				columns = append(columns, newReducer(plan, o.reduce, factor, k, ds))
			}
		}
	}
	for t, err := range plan.Pieces(ctx) {
		if err != nil {
			return err
		}
		for _, r := range columns {
			r.add(t)
		}
	}
	for _, r := range columns {
		p.elems[r.elem].series = r.finish()
	}
	return nil
}

// sameRows says whether d takes the rows that were fetched for a DEF before it, of a step: it asks
// for the same, or, as rrdtool has it, for what the other got.
func (d *definition) sameRows(o *definition, step int64) bool {
	return d.file == o.file && d.daemon == o.daemon && d.cf == o.cf && d.start == o.start && d.end == o.end &&
		(d.step == o.step || d.step == step && d.reduce == o.reduce)
}

// A reducer makes rows of a coarser step, each of as many as fit. A row that is not wholly there is
// unknown.
type reducer struct {
	elem   int // the DEF that they are for
	ds     int // the data source
	series rpn.Series
	rows   int64
	cf     rra.CF
	factor int64 // rows that make one
	seen   int64 // rows of the open one
	whole  bool  // the open one has its first row
	n      int64 // that are known
	value  float64
}

func newReducer(plan *query.Plan, cf rra.CF, factor int64, elem, ds int) *reducer {
	step := plan.Step * factor
	r := &reducer{elem: elem, ds: ds, cf: cf, factor: factor, series: rpn.Series{Start: floor(plan.Start, step), Step: step}}
	r.rows = (floor(plan.End+step-1, step) - r.series.Start) / step
	r.seen = (plan.Start - r.series.Start) / plan.Step
	r.whole = r.seen == 0
	if r.rows <= MaxRows {
		r.series.Values = make([]float64, 0, r.rows)
	}
	return r
}

func floor(t, step int64) int64 {
	m := t % step
	if m < 0 {
		m += step
	}
	return t - m
}

// add adds rows.
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

// fold combines a row with the open one.
func (r *reducer) fold(v float64) {
	if v != v {
		return
	}
	r.n++
	if r.n == 1 {
		r.value = v
		return
	}
	switch r.cf {
	case rra.Min:
		if v < r.value {
			r.value = v
		}
	case rra.Max, rra.Failures:
		if v > r.value {
			r.value = v
		}
	case rra.Last:
		r.value = v
	default:
		r.value += v
	}
}

// close ends the open row.
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

// finish ends what is left as unknown.
func (r *reducer) finish() rpn.Series {
	if r.seen > 0 {
		r.whole = false
		r.close()
	}
	return r.series
}

// Exports returns the XPORT lines in order.
func (p *Program) Exports() []Export { return p.exports }

// Lookup returns the variable of a name; false if no line has defined it.
func (p *Program) Lookup(name string) (variable int, kind Kind, ok bool) {
	i, ok := p.names[name]
	if !ok {
		return 0, 0, false
	}
	return i, p.elems[i].kind, true
}

// Series returns the column of a variable after Run. What a VDEF gives has a step of 0 and one
// value.
func (p *Program) Series(variable int) rpn.Series { return p.elems[variable].series }

// A Grid is the rows that the exported columns have in common: they end at Start+Step,
// Start+2*Step, … up to End.
type Grid struct {
	Start, End, Step int64
}

// Rows returns how many rows there are.
func (g Grid) Rows() int64 { return max(0, (g.End-g.Start)/g.Step) }

// Grid returns the rows of the whole range at the greatest step that divides those of all exported
// columns. The range is widened to whole rows.
func (p *Program) Grid() Grid {
	g := Grid{}
	for _, x := range p.exports {
		g.Step = gcd(p.elems[x.Variable].series.Step, g.Step)
	}
	if g.Step == 0 {
		g.Step = 1
	}
	g.Start = floor(p.options.Start, g.Step)
	g.End = floor(p.options.End+g.Step-1, g.Step)
	return g
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// A Cursor reads one column at the times of a grid, which must not go back.
type Cursor struct {
	values []float64
	step   int64
	next   int64 // the end of the current row
	row    int
}

// NewCursor returns a cursor of a column.
func NewCursor(s rpn.Series) Cursor {
	return Cursor{values: s.Values, step: max(s.Step, 1), next: s.Start, row: -1}
}

// At returns the value at a time: that of the row which the time lies in, NaN where there is none.
func (c *Cursor) At(t int64) float64 {
	if t > c.next {
		n := (t - c.next + c.step - 1) / c.step
		c.row, c.next = c.row+int(n), c.next+n*c.step
	}
	if c.row < 0 || c.row >= len(c.values) || t <= c.next-c.step {
		return math.NaN()
	}
	return c.values[c.row]
}
