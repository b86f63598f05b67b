package rrdtool

import (
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A prefill makes a series of what others hold. There are two kinds of it, which ask for rows in another order: create --source
// fills a series as rrdtool does, alter lets a series go on as something else.
type prefill struct {
	*parts
	sources []*parts
	// mapped tells, for each data source, the series and the data source that fill it. Where a mapping names no series, every
	// series that has a data source of that name does, in their order.
	mapped []rra.Mapping
	// altering says that the series goes on: rows that an archive has stand, unknown ones too, and the open PDP gives a row.
	altering bool
}

// newPrefill returns a series of definition d that has begun at last, and is still to be filled. By name seasons are smoothed.
func newPrefill(path, name string, d *rra.Definition, last rra.Time, sources []*parts, mapped []rra.Mapping) (*prefill, error) {
	m, err := rra.Compile(d)
	if err != nil {
		return nil, err
	}
	empty := core.Copy{Path: path, Definition: d, State: m.NewState(last), Rows: make([][]float64, len(d.Archives))}
	m.SmoothBy(empty.State.W, rra.NameHash(name))
	p, err := takeApart(empty)
	if err != nil {
		return nil, err
	}
	p.x.LastUpdate = last
	return &prefill{parts: p, sources: sources, mapped: mapped}, nil
}

// fill fills all data sources.
func (p *prefill) fill() {
	for ds := range p.d.Sources {
		columns := p.columns(ds)
		if p.altering {
			p.continueSource(ds, columns)
		} else {
			p.fillSource(ds, columns)
		}
		for i := range p.d.Archives {
			if p.d.Archives[i].CF <= rra.Last {
				p.fillRows(i, ds, columns)
				p.fillOpen(i, ds, columns)
			} else {
				p.fillModel(i, ds, columns)
			}
		}
	}
}

// columns returns what a data source is filled from, in order.
func (p *prefill) columns(ds int) []column {
	m := p.mapped[ds]
	var out []column
	for i, from := range p.sources {
		if m.Source > 0 && i != m.Source-1 {
			continue
		}
		if k := from.source(m.Name); k >= 0 {
			out = append(out, column{from, k})
		}
	}
	return out
}

// sameSlot says whether two series are in the same row of span seconds.
func (p *prefill) sameSlot(from *parts, span int64) bool { return p.last()/span == from.last()/span }

// fillModel takes over an archive of the Holt-Winters family from one of the same CF and step, if the series go on together.
func (p *prefill) fillModel(i, ds int, columns []column) {
	a := &p.d.Archives[i]
	for _, c := range columns {
		d := &c.from.d
		if d.Step != p.d.Step || !p.sameSlot(c.from, d.Step) {
			continue
		}
		k := p.model(i, d)
		if k < 0 {
			continue
		}
		b := &d.Archives[k]
		p.x.Archives[i].CurRow = c.from.x.Archives[k].CurRow % a.Rows
		p.x.Archives[i].CDPs[ds] = c.from.x.Archives[k].CDPs[c.ds]
		if p.altering {
			p.x.Archives[i].SmoothRow = c.from.x.Archives[k].SmoothRow
		}
		to, from := len(p.d.Sources), len(d.Sources)
		for r := int64(1); r <= min(a.Rows, b.Rows); r++ {
			p.rows[i][int(a.Rows-r)*to+ds] = c.from.rows[k][int(b.Rows-r)*from+c.ds]
		}
		return
	}
}

// model returns the archive of d that archive i goes on from, rather one of the same parameters; -1: there is none.
func (p *prefill) model(i int, d *rra.Definition) int {
	a, found := &p.d.Archives[i], -1
	for k := range d.Archives {
		b := &d.Archives[k]
		switch {
		case b.CF != a.CF || d.Archives[b.Partner].CF != p.d.Archives[a.Partner].CF:
		case (a.CF == rra.Seasonal || a.CF == rra.DevSeasonal) && a.Rows != b.Rows:
		case sameModel(&p.d, i, d, k, 3):
			return k
		case found < 0:
			found = k
		}
	}
	return found
}

// sameModel says whether two archives have the same parameters, and those that they depend on too.
func sameModel(d *rra.Definition, i int, e *rra.Definition, k, depth int) bool {
	a, b := d.Archives[i], e.Archives[k]
	windows := a.SmoothingWindow == b.SmoothingWindow || math.IsNaN(a.SmoothingWindow) && math.IsNaN(b.SmoothingWindow)
	i, k = a.Partner, b.Partner
	a.Partner, b.Partner, a.SmoothingWindow, b.SmoothingWindow = 0, 0, 0, 0
	return windows && a == b && (depth == 0 || sameModel(d, i, e, k, depth-1))
}
