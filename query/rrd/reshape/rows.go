package reshape

import (
	"cmp"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// fillRows fills the ring of archive i for one data source.
func (p *filling) fillRows(i, ds int, columns []column) {
	a := &p.Definition.Archives[i]
	span := a.PDPs * p.Definition.Step
	first := p.Last() - p.Last()%span - (a.Rows-1)*span
	from := p.donors(a.CF, span, columns)
	var same []donor
	if p.goesOn {
		same = sameRows(a, span, from)
		from = append(slices.Clone(same), from...)
	}
	fillRing(p.Rows[i], len(p.Definition.Sources), ds, first, span, func(start, end int64) float64 {
		if v, ok := keptRow(same, end); ok {
			return v
		}
		return p.row(a, start, end, p.spare(from, start, end))
	})
}

// row consolidates what is known of the time from start to end into a row of a.
func (p *filling) row(a *rra.Archive, start, end int64, from []donor) float64 {
	v, covered := p.bin(a.CF, start, end, p.reaching(from, start, end))
	if float64(covered) <= a.XFF*float64(end-start) {
		return math.NaN()
	}
	return v
}

// donors returns the archives of the CF or of AVERAGE, in the order in which they are asked for
// rows of span seconds.
//
// create asks all archives of the first series before the second's, in the order of asking. alter
// asks those first whose rows need no more than consolidation: no longer than span, and of the CF
// or one PDP long.
func (p *filling) donors(cf rra.CF, span int64, columns []column) []donor {
	var out []donor
	if !p.goesOn {
		for _, c := range columns {
			for _, i := range p.order(c.from, asking{cf, span}) {
				out = append(out, c.archive(i))
			}
		}
		return out
	}
	for _, c := range columns {
		if open, ok := c.openPDP(); ok {
			out = append(out, open) // a finer step closes a part of it
		}
		for i := range c.from.Definition.Archives {
			a := &c.from.Definition.Archives[i]
			if !(asking{cf, span}).takes(a.CF) {
				continue
			}
			d := c.archive(i)
			if d.span > span || d.cf != cf && d.span != c.from.Definition.Step {
				d.rank = 1
			}
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b donor) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.span, b.span),
			compareCF(a.cf, b.cf), cmp.Compare(b.newest-b.oldest, a.newest-a.oldest))
	})
	return out
}

// reaching returns the donors whose rows cover the whole time from start to end. As in rrdtool,
// create asks no others for a row of that time.
func (p *filling) reaching(from []donor, start, end int64) []donor {
	return p.without(from, func(d donor) bool { return d.oldest > start || d.newest < end })
}

// spare returns the donors that have more rows than the time from start to end needs. As in
// rrdtool, create takes nothing for a row of an archive from a donor that it needs every row of.
func (p *filling) spare(from []donor, start, end int64) []donor {
	return p.without(from, func(d donor) bool {
		first, last := (start-d.oldest)/d.span, (end-d.oldest-1)/d.span
		return (last-first+1)*d.span == d.newest-d.oldest
	})
}

// without returns the donors that create does not refuse. alter refuses none.
func (p *filling) without(from []donor, refused func(donor) bool) []donor {
	if p.goesOn || !slices.ContainsFunc(from, refused) {
		return from
	}
	return slices.DeleteFunc(slices.Clone(from), refused)
}

// sameRows returns the donors whose rows are rows of a, with span seconds each. Donors with the
// nearest XFF come first.
func sameRows(a *rra.Archive, span int64, from []donor) []donor {
	var out []donor
	for _, d := range from {
		// an open PDP may be as long, and begin elsewhere
		if d.cf == a.CF && d.span == span && d.oldest%span == 0 {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(x, y donor) int {
		return cmp.Compare(math.Abs(x.xff-a.XFF), math.Abs(y.xff-a.XFF))
	})
	return out
}

// keptRow returns the row that ends at end from the first donor that has it.
func keptRow(same []donor, end int64) (float64, bool) {
	for i := range same {
		if d := &same[i]; end > d.oldest && end <= d.newest {
			return d.at(end - d.span), true
		}
	}
	return 0, false
}

// fillCDP sets what archive i remembers of the row that is open and of the row before it. An
// archive with the same rows that was last updated in the same PDP gives it; otherwise it is
// computed from the known PDPs.
func (p *filling) fillCDP(i, ds int, columns []column) {
	a := &p.Definition.Archives[i]
	x := &p.State.Archives[i].CDPs[ds]
	for _, c := range columns {
		d := &c.from.Definition
		if d.Step != p.Definition.Step || !p.sameSlot(c.from, d.Step) {
			continue
		}
		same := -1 // the longest one, and the first among equals
		for k := range d.Archives {
			b := &d.Archives[k]
			if b.CF == a.CF && b.PDPs == a.PDPs && (same < 0 || b.Rows > d.Archives[same].Rows) {
				same = k
			}
		}
		if same >= 0 {
			*x = c.from.State.Archives[same].CDPs[c.ds]
			return
		}
	}
	step := p.Definition.Step
	pdps := p.pdpArchive()
	from := p.donors(rra.Average, step, columns)
	*x = consolidated(a, step, p.Last(), func(start int64) float64 { return p.row(pdps, start, start+step, from) })
}

// pdpArchive returns the archive whose rows are the PDPs that open rows are made of. As in rrdtool
// that is the longest AVERAGE archive with one PDP a row; if the series has none, an archive with
// an XFF of one half.
func (p *filling) pdpArchive() *rra.Archive {
	out := &rra.Archive{CF: rra.Average, PDPs: 1, XFF: 0.5}
	for i := range p.Definition.Archives {
		if a := &p.Definition.Archives[i]; a.CF == rra.Average && a.PDPs == 1 && a.Rows > out.Rows {
			out = a
		}
	}
	return out
}

// sameSlot reports whether two series were last updated in the same row of span seconds.
func (p *filling) sameSlot(from *Series, span int64) bool { return p.Last()/span == from.Last()/span }
