package reshape

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

// fillModel takes over an archive of the Holt-Winters family from an archive with the same CF and
// step, if that series was last updated in the same PDP.
func (p *filling) fillModel(i, ds int, columns []column) {
	a := &p.Definition.Archives[i]
	for _, c := range columns {
		d := &c.from.Definition
		if d.Step != p.Definition.Step || !p.sameSlot(c.from, d.Step) {
			continue
		}
		k := p.model(i, d)
		if k < 0 {
			continue
		}
		b := &d.Archives[k]
		p.State.Archives[i].CurRow = c.from.State.Archives[k].CurRow % a.Rows
		p.State.Archives[i].CDPs[ds] = c.from.State.Archives[k].CDPs[c.ds]
		if p.goesOn {
			p.State.Archives[i].SmoothRow = c.from.State.Archives[k].SmoothRow
		}
		to, from := len(p.Definition.Sources), len(d.Sources)
		for r := int64(1); r <= min(a.Rows, b.Rows); r++ {
			p.Rows[i][int(a.Rows-r)*to+ds] = c.from.Rows[k][int(b.Rows-r)*from+c.ds]
		}
		return
	}
}

// model returns the archive of d that archive i continues, or -1. An archive with the same
// parameters is preferred.
func (p *filling) model(i int, d *rra.Definition) int {
	a, found := &p.Definition.Archives[i], -1
	for k := range d.Archives {
		b := &d.Archives[k]
		switch {
		case b.CF != a.CF || d.Archives[b.Partner].CF != p.Definition.Archives[a.Partner].CF:
		case (a.CF == rra.Seasonal || a.CF == rra.DevSeasonal) && a.Rows != b.Rows:
		case sameModel(&p.Definition, i, d, k, 3):
			return k
		case found < 0:
			found = k
		}
	}
	return found
}

// sameModel reports whether two archives have the same parameters, and the archives that they
// depend on too, depth archives deep.
func sameModel(d *rra.Definition, i int, e *rra.Definition, k, depth int) bool {
	a, b := d.Archives[i], e.Archives[k]
	windows := a.SmoothingWindow == b.SmoothingWindow || math.IsNaN(a.SmoothingWindow) && math.IsNaN(b.SmoothingWindow)
	i, k = a.Partner, b.Partner
	a.Partner, b.Partner, a.SmoothingWindow, b.SmoothingWindow = 0, 0, 0, 0
	return windows && a == b && (depth == 0 || sameModel(d, i, e, k, depth-1))
}
