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
