package graphdata

import (
	"math"

	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra/rpn"
)

// Exports returns the XPORT lines in order.
func (p *Program) Exports() []Export { return p.exports }

// ExportDrawn makes Exports return the DEFs and CDEFs that LINE, AREA and STACK draw, too.
func (p *Program) ExportDrawn() { p.exports = p.columns }

// Lookup returns the variable of a name and the kind of the line that defines it. ok is false if no
// line does.
func (p *Program) Lookup(name string) (variable int, kind Kind, ok bool) {
	i, ok := p.names[name]
	if !ok {
		return 0, 0, false
	}
	return i, p.elems[i].kind, true
}

// Series returns the column of a variable. Call it after Run. The result of a VDEF has a step of 0
// and one value.
func (p *Program) Series(variable int) rpn.Series { return p.elems[variable].series }

// Time returns the time of the result of a VDEF, in seconds since 1970; 0 if it has none. Call it
// after Run.
func (p *Program) Time(variable int) int64 {
	if e := &p.elems[variable]; e.timed {
		return e.at
	}
	return 0
}

// A Grid is the rows that all exported columns have in common. They end at Start+Step,
// Start+2*Step, and so on up to End, in seconds since 1970.
type Grid struct {
	Start, End, Step int64
}

// Rows returns the number of rows.
func (g Grid) Rows() int64 { return max(0, (g.End-g.Start)/g.Step) }

// Grid returns the rows of the program's range at the largest step that divides the steps of all
// exported columns. The range is widened to whole rows.
func (p *Program) Grid() Grid {
	g := Grid{}
	for _, x := range p.exports {
		g.Step = rpn.GCD(p.elems[x.Variable].series.Step, g.Step)
	}
	if g.Step == 0 {
		g.Step = 1
	}
	g.Start = query.Floor(p.options.Start, g.Step)
	g.End = query.Ceil(p.options.End, g.Step)
	return g
}

// A Cursor reads one column at ascending times, such as a Grid's.
type Cursor struct {
	values []float64
	step   int64
	next   int64 // the end of the current row
	row    int
}

// NewCursor returns a cursor at the beginning of a column.
func NewCursor(s rpn.Series) Cursor {
	return Cursor{values: s.Values, step: max(s.Step, 1), next: s.Start, row: -1}
}

// At returns the value of the row that contains the time t, in seconds since 1970, or NaN if no row
// does. t must not be smaller than in the call before.
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
