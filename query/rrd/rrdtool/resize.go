package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/query/rrd/reshape"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

const resizeUsage = `NAME INDEX GROW|SHRINK ROWS
  makes resize.rrd of a series, with more or fewer rows in the archive INDEX (from 0);
  to change the series itself: tune NAME RRA#INDEX:+ROWS`

// resized is the name of the series that resize makes.
const resized = "resize.rrd"

// resize makes a copy of a series with more or fewer rows in one archive.
func (c *command) resize(args []string) error {
	if len(args) != 4 {
		return errors.New("wrong number of parameters")
	}
	name, shrink := args[0], args[2] == "SHRINK"
	rows, _, _ := numeral.Scan(args[3], 0)
	switch {
	case name == resized:
		return errors.New("resize.rrd is a reserved name")
	case !shrink && args[2] != "GROW":
		return errors.New("I can only GROW or SHRINK")
	case rows < 1:
		return errors.New("Please grow or shrink with at least 1 row")
	}
	if shrink {
		rows = -rows
	}
	ref, err := c.owned(name)
	if err != nil {
		return err
	}
	series, err := c.Store.Export(c.ctx, ref)
	if err != nil {
		return named(name, err)
	}
	index, _, _ := numeral.Scan(args[1], 0)
	if series, err = resizedCopy(series, index, rows); err != nil {
		return err
	}
	if series.Path, err = c.Path(resized); err != nil {
		return err
	}
	return c.importSeries(series, true)
}

// resizedCopy returns a series whose archive i has more rows, or fewer if more is negative. New
// rows are unknown.
func resizedCopy(series core.Copy, i, more int64) (core.Copy, error) {
	p, err := reshape.Apart(series)
	if err != nil {
		return core.Copy{}, err
	}
	switch version := rrdfile.VersionOf(&p.Definition); {
	case i < 0 || i >= int64(len(p.Definition.Archives)):
		return core.Copy{}, errors.New("no such RRA in this RRD")
	case -more >= p.Definition.Archives[i].Rows:
		return core.Copy{}, errors.New("This RRA is not that big")
	case version > 4:
		return core.Copy{}, fmt.Errorf("Do not know how to handle RRD version %04d", version)
	}
	a := &p.Definition.Archives[i]
	if more < 0 {
		// The oldest rows stand behind the current row. They are removed first.
		behind := a.Rows - 1 - p.State.Archives[i].CurRow
		p.State.Archives[i].CurRow -= max(0, -more-behind)
	}
	if err := p.Resize(int(i), a.Rows+min(more, reshape.MaxRows), nil); err != nil {
		return core.Copy{}, err
	}
	p.Origin.Labels = nil // labels identify the original
	return p.Copy()
}
