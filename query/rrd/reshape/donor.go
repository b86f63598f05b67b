package reshape

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

// A column is one data source of a series that rows are taken from.
type column struct {
	from *Series
	ds   int
}

// A donor is one column of an archive that rows are taken from.
type donor struct {
	cf        rra.CF
	span      int64 // seconds a row
	oldest    int64 // when its oldest row begins
	newest    int64 // when its newest row ends
	rows      []float64
	width, ds int // of rows: the values a row, and which of them is the column's
	xff       float64
	primary   float64 // the value of the last row, as the archive remembers it
	rank      int     // donors of a lower rank are asked first
}

// at returns the value of the row that begins at t.
func (d *donor) at(t int64) float64 { return d.rows[int((t-d.oldest)/d.span)*d.width+d.ds] }

// from returns when the first row begins that may overlap the time from start on.
func (d *donor) from(start int64) int64 { return d.oldest + max(0, (start-d.oldest)/d.span)*d.span }

func (c column) archive(i int) donor {
	s := c.from
	a := &s.Definition.Archives[i]
	span := a.PDPs * s.Definition.Step
	newest := s.Last() - s.Last()%span
	return donor{
		cf: a.CF, span: span, oldest: newest - a.Rows*span, newest: newest,
		rows: s.Rows[i], width: len(s.Definition.Sources), ds: c.ds,
		xff: a.XFF, primary: s.State.Archives[i].CDPs[c.ds].Primary,
	}
}

// openPDP returns the open PDP of the column as a donor of one row. It reports false if a second of
// the open PDP is unknown.
func (c column) openPDP() (donor, bool) {
	x := &c.from.State.Sources[c.ds]
	gathered := c.from.Last() % c.from.Definition.Step
	if gathered == 0 || x.UnknownSec != 0 || math.IsNaN(x.Value) {
		return donor{}, false
	}
	mean := []float64{x.Value / float64(gathered)}
	return donor{cf: rra.Average, span: gathered, oldest: c.from.Last() - gathered, newest: c.from.Last(), rows: mean, width: 1}, true
}

// fillRing sets the values of one data source in rows of width values. The first row ends at end,
// each row covers span seconds, and row returns the value for the time from start to end.
func fillRing(rows []float64, width, ds int, end, span int64, row func(start, end int64) float64) {
	for k := ds; k < len(rows); k += width {
		rows[k] = row(end-span, end)
		end += span
	}
}

// consolidated returns what an archive remembers after the PDPs until last: the row that is open,
// and the row before it. pdp returns the PDP that begins at start.
func consolidated(a *rra.Archive, step, last int64, pdp func(start int64) float64) rra.CDP {
	last -= last % step
	if a.PDPs == 1 {
		return rra.CDP{Value: math.NaN(), Primary: pdp(last - step)}
	}
	span := a.PDPs * step
	open := last - last%span
	var x rra.CDP
	var missing int64
	x.Primary, missing = gather(a.CF, open-span, open, step, pdp)
	x.Secondary = pdp(open - step)
	switch {
	case float64(missing) > float64(a.PDPs)*a.XFF:
		x.Primary = math.NaN()
	case a.CF == rra.Average:
		x.Primary /= float64(a.PDPs - missing)
	case a.CF == rra.Last:
		x.Primary = x.Secondary
	}
	x.Value, x.Unknown = gather(a.CF, open, last, step, pdp)
	return x
}

// gather adds up the PDPs from start to end as an open row does. It returns the value, and how many
// PDPs are unknown.
func gather(cf rra.CF, start, end, step int64, pdp func(start int64) float64) (value float64, unknown int64) {
	value = emptyValue(cf)
	for t := start; t < end; t += step {
		value, unknown = addPDP(cf, value, unknown, pdp(t))
	}
	return value, unknown
}

// emptyValue is the value of an open row that no PDP has been added to.
func emptyValue(cf rra.CF) float64 {
	switch cf {
	case rra.Average:
		return 0
	case rra.Min:
		return math.Inf(1)
	case rra.Max:
		return math.Inf(-1)
	}
	return math.NaN()
}

// addPDP adds a PDP to the value of an open row, or to its count of unknown PDPs.
func addPDP(cf rra.CF, value float64, unknown int64, pdp float64) (float64, int64) {
	if pdp != pdp {
		return value, unknown + 1
	}
	switch {
	case cf == rra.Average && value == value:
		return value + pdp, unknown
	case cf == rra.Min && value == value:
		return min(value, pdp), unknown
	case cf == rra.Max && value == value:
		return max(value, pdp), unknown
	}
	return pdp, unknown
}
