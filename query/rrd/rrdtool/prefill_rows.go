package rrdtool

import (
	"cmp"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// fillRows fills the ring of an archive.
func (p *prefill) fillRows(i, ds int, columns []column) {
	a := &p.d.Archives[i]
	span := a.PDPs * p.d.Step
	end := p.last() - p.last()%span - (a.Rows-1)*span
	n := len(p.d.Sources)
	from := p.givers(a.CF, span, columns)
	var exact []giver
	if p.altering {
		exact = sameRows(a, span, from)
		from = append(slices.Clone(exact), from...)
	}
	for k := range int(a.Rows) {
		v, kept := kept(exact, end)
		if !kept {
			v = p.row(a, end-span, end, from)
		}
		p.rows[i][k*n+ds] = v
		end += span
	}
}

// row consolidates what is known of the time from start to end into a row of a.
func (p *prefill) row(a *rra.Archive, start, end int64, from []giver) float64 {
	v, covered := p.bin(a.CF, start, end, p.reaching(from, start, end))
	if float64(covered) <= a.XFF*float64(end-start) {
		return math.NaN()
	}
	return v
}

// sameRows returns the givers that hold the very rows of a, which have span seconds: first those that had to know as much.
func sameRows(a *rra.Archive, span int64, from []giver) []giver {
	var out []giver
	for _, g := range from {
		if g.cf == a.CF && g.span == span && g.oldest%span == 0 { // an open PDP may be as long, and lie elsewhere
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(x, y giver) int {
		return cmp.Compare(math.Abs(x.xff-a.XFF), math.Abs(y.xff-a.XFF))
	})
	return out
}

// kept returns the row that ends at end, if one of the givers of the very rows has it.
func kept(exact []giver, end int64) (float64, bool) {
	for i := range exact {
		if g := &exact[i]; end > g.oldest && end <= g.newest {
			return g.at(end - g.span), true
		}
	}
	return 0, false
}

// fillOpen fills in what an archive remembers of the row that is open, and of the one before it: what an archive of the same rows
// remembers that was last updated in the same PDP, or else what the PDPs that are known say.
func (p *prefill) fillOpen(i, ds int, columns []column) {
	a := &p.d.Archives[i]
	x := &p.x.Archives[i].CDPs[ds]
	for _, c := range columns {
		d := &c.from.d
		if d.Step != p.d.Step || !p.sameSlot(c.from, d.Step) {
			continue
		}
		same := -1 // the longest, the first of equals
		for k := range d.Archives {
			b := &d.Archives[k]
			if b.CF == a.CF && b.PDPs == a.PDPs && (same < 0 || b.Rows > d.Archives[same].Rows) {
				same = k
			}
		}
		if same >= 0 {
			*x = c.from.x.Archives[same].CDPs[c.ds]
			return
		}
	}
	steps := p.steps()
	from := p.givers(rra.Average, p.d.Step, columns)
	*x = consolidated(a, p.d.Step, p.last(), func(start int64) float64 { return p.row(steps, start, start+p.d.Step, from) })
}

// steps returns the archive whose rows are the PDPs that open rows are made of: as in rrdtool, the longest archive of the series
// that has them, and without one an archive that knows a row of which half is known.
func (p *prefill) steps() *rra.Archive {
	out := &rra.Archive{CF: rra.Average, PDPs: 1, XFF: 0.5}
	for i := range p.d.Archives {
		if a := &p.d.Archives[i]; a.CF == rra.Average && a.PDPs == 1 && a.Rows > out.Rows {
			out = a
		}
	}
	return out
}

// consolidated returns what an archive remembers after the PDPs until last, each of them as pdp returns it for the time it begins.
func consolidated(a *rra.Archive, step, last int64, pdp func(start int64) float64) rra.CDP {
	last -= last % step
	if a.PDPs == 1 {
		return rra.CDP{Value: math.NaN(), Primary: pdp(last - step)}
	}
	span := a.PDPs * step
	open := last - last%span
	x := rra.CDP{Value: emptyValue(a.CF)}
	for t := open - span; t < last; t += step {
		v := pdp(t)
		x.Value, x.Unknown = addPDP(a.CF, x.Value, x.Unknown, v)
		if t+step != open {
			continue
		}
		x.Primary, x.Secondary = x.Value, v
		switch {
		case float64(x.Unknown) > float64(a.PDPs)*a.XFF:
			x.Primary = math.NaN()
		case a.CF == rra.Average:
			x.Primary /= float64(a.PDPs - x.Unknown)
		case a.CF == rra.Last:
			x.Primary = v
		}
		x.Value, x.Unknown = emptyValue(a.CF), 0
	}
	return x
}
