package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra/rpn"
)

// Run fetches the data of all DEFs. Then it calculates CDEFs, VDEFs and SHIFTs in the order of the
// lines.
func (p *Program) Run(ctx context.Context, s Source) error {
	for i := range p.elems {
		if p.elems[i].kind == DEF && p.elems[i].series.Step == 0 {
			if err := p.fetch(ctx, s, i); err != nil {
				return err
			}
		}
	}
	for i := range p.elems {
		if err := ctx.Err(); err != nil {
			return err
		}
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
	o := rpn.Options{Now: p.options.Now.Unix(), Location: p.options.Now.Location(), WeekStart: p.options.WeekStart}
	if p.options.Work > 0 {
		if o.Work = p.options.Work - p.values; o.Work <= 0 {
			return rpn.ErrWork
		}
	}
	var err error
	e.series, err = e.rpn.EvalColumns(vars, o)
	p.values += len(e.series.Values)
	return err
}

// shift moves a column in time, by whole rows. It replaces an earlier shift of the same column.
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
		by = 0 // such a time does not exist in rrdtool either
	}
	of.series.Start += by - of.shift
	of.shift = by
}

// seconds converts a double to an integer as C does on x86-64.
func seconds(v float64) int64 {
	if !(v >= math.MinInt64 && v < math.MaxInt64) {
		return math.MinInt64
	}
	return int64(v)
}

// maxSource is how many bytes of the name of a data source rrdtool looks at.
const maxSource = 19

// source returns the index of the data source of d, or -1. As with rrdtool, what is beyond
// maxSource may be wrong.
func (d *definition) source(names []string) int {
	if i := slices.Index(names, d.ds); i >= 0 {
		return i
	}
	return slices.Index(names, cut(d.ds, maxSource))
}

// fetch fetches the rows of DEF i. Later DEFs that need the same rows get their columns from the
// same fetch.
func (p *Program) fetch(ctx context.Context, s Source, i int) error {
	d := p.elems[i].def
	reading, err := p.reading(ctx, s, d)
	if err != nil {
		return err
	}
	if reading.Plan == nil {
		return p.missing(i)
	}
	plan, factor := reading.Plan, p.factor(d, reading.Plan)
	if factor&(factor-1) != 0 && plan.Start%(plan.Step*factor) != 0 && plan.End < query.Floor(plan.Start, plan.Step*factor)+plan.Step*factor {
		// The range lies inside one row. rrdtool then counts minus factor rows, in 64 bits without
		// a sign, and goes on if that is a multiple of factor.
		return fmt.Errorf("SANITY CHECK: %d rows cannot be reduced by %d \n", -uint64(factor), factor)
	}
	ds := d.source(plan.DS)
	if ds < 0 {
		return fmt.Errorf("No DS called '%s' in '%s'", cut(d.ds, maxSource), d.file)
	}
	switch {
	case reading.Kept > MaxRows:
		return &query.RangeError{Rows: reading.Kept, Most: MaxRows}
	case plan.Rows() > maxFetched:
		return &query.RangeError{Rows: plan.Rows(), Most: maxFetched}
	}
	columns := []*reducer{newReducer(plan, d.reduce, factor, i, ds)}
	for k := i + 1; k < len(p.elems) && len(columns) < len(plan.DS); k++ {
		if o := p.elems[k].def; o != nil && o.sameRows(d, plan.Step*factor) && p.elems[k].series.Step == 0 {
			if ds := o.source(plan.DS); ds >= 0 {
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

// factor is how many rows of an archive are one row of a DEF.
func (p *Program) factor(d *definition, plan *query.Plan) int64 {
	if want := max(p.options.Step, d.step); plan.Step < want {
		return (want-1)/plan.Step + 1
	}
	return 1
}

// unknown lays out unknown rows for a DEF whose series cannot be opened. It returns where they
// begin, how long a row is, in seconds, and how many rows there are.
func (p *Program) unknown(d *definition) (start, step, rows int64) {
	step = max(p.options.Step, d.step, 1)
	start = query.Floor(d.start, step)
	return start, step, (query.Floor(d.end, step) + step - start) / step
}

// missing gives DEF i rows that are unknown.
func (p *Program) missing(i int) error {
	d := p.elems[i].def
	start, step, rows := p.unknown(d)
	if rows > MaxRows {
		return &query.RangeError{Rows: rows, Most: MaxRows}
	}
	values := make([]float64, rows)
	for k := range values {
		values[k] = math.NaN()
	}
	p.elems[i].series = rpn.Series{Start: start, Step: step, Values: values}
	return nil
}

// sameRows reports whether d uses the rows that were fetched for the earlier DEF o, with the step
// that o got. It does if it asks for the same step as o or, as in rrdtool, for the step that o got.
func (d *definition) sameRows(o *definition, step int64) bool {
	return d.file == o.file && d.daemon == o.daemon && d.cf == o.cf && d.start == o.start && d.end == o.end &&
		(d.step == o.step || d.step == step && d.reduce == o.reduce)
}
