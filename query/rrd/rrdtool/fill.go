package rrdtool

import (
	"cmp"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// A filling makes rows of an archive from those of others.
type filling struct {
	step, last int64
	sources    int
	from       []donor // finest first, the longest of equals first
}

// A donor is an archive that gives rows.
type donor struct {
	cf     rra.CF
	span   int64 // seconds a row
	oldest int64 // when its oldest row begins
	newest int64 // when its last row ends
	rows   []float64
	cdps   []rra.CDP // what the archive remembers; nil if nobody asks
}

// filling returns what the archives that the parts have now can give.
func (p *parts) filling() *filling {
	f := &filling{step: p.d.Step, last: p.last(), sources: len(p.d.Sources)}
	for i := range p.d.Archives {
		a := &p.d.Archives[i]
		if a.CF > rra.Last {
			continue
		}
		span := a.PDPs * p.d.Step
		newest := f.last - f.last%span
		f.from = append(f.from, donor{a.CF, span, newest - a.Rows*span, newest, p.rows[i], p.x.Archives[i].CDPs})
	}
	slices.SortStableFunc(f.from, func(a, b donor) int {
		return cmp.Or(cmp.Compare(a.span, b.span), len(b.rows)-len(a.rows))
	})
	return f
}

// rows returns count rows of a, the last of them skip rows before the last that a has.
func (f *filling) rows(a *rra.Archive, count, skip int64) []float64 {
	out := unknown(int(count) * f.sources)
	if a.CF > rra.Last {
		return out
	}
	span := a.PDPs * f.step
	end := f.last - f.last%span - (skip+count-1)*span
	for k := range int(count) {
		for ds := range f.sources {
			out[k*f.sources+ds] = f.row(a.CF, end-span, end, ds)
		}
		end += span
	}
	return out
}

// row is what is known of a data source from start to end. Archives that reach back to start come first.
func (f *filling) row(cf rra.CF, start, end int64, ds int) float64 {
	for _, whole := range []bool{true, false} {
		for i := range f.from {
			d := &f.from[i]
			if d.cf != cf && d.cf != rra.Average || (d.oldest <= start) != whole {
				continue
			}
			if v := d.fold(cf, start, end, ds, f.sources); v == v {
				return v
			}
		}
	}
	return math.NaN()
}

// fold consolidates the rows that overlap the time from start to end, unknown ones left out.
func (d *donor) fold(cf rra.CF, start, end int64, ds, sources int) float64 {
	var (
		out   = math.NaN()
		count int
	)
	from := max(0, (start-d.oldest)/d.span)
	for t := d.oldest + from*d.span; t < min(end, d.newest); t += d.span {
		if t+d.span <= start {
			continue
		}
		v := d.rows[int((t-d.oldest)/d.span)*sources+ds]
		if v != v {
			continue
		}
		count++
		switch {
		case count == 1:
			out = v
		case cf == rra.Average:
			out += v
		case cf == rra.Min:
			out = min(out, v)
		case cf == rra.Max:
			out = max(out, v)
		default:
			out = v
		}
	}
	if cf == rra.Average && count > 1 {
		out /= float64(count)
	}
	return out
}

// open fills in what an archive of several PDPs a row remembers of the row that is open.
func (f *filling) open(a *rra.Archive, cdps []rra.CDP) {
	span := a.PDPs * f.step
	start := f.last - f.last%span
	for ds := range cdps {
		c := &cdps[ds]
		c.Value, c.Unknown = emptyValue(a.CF), 0
		for t := start; t+f.step <= f.last; t += f.step {
			c.Value, c.Unknown = addPDP(a.CF, c.Value, c.Unknown, f.row(a.CF, t, t+f.step, ds))
		}
	}
}

// closed fills in what an archive that is added remembers of its last row: the row itself, and what came before the row that is
// open. As in rrdtool that is a row of the first archive that gives rows; where that has none in the open row, what the archive
// remembers of its own last row. A row that ends with the last update counts as open there.
func (f *filling) closed(a *rra.Archive, rows []float64, cdps []rra.CDP) {
	span := a.PDPs * f.step
	open := f.last - f.last%span
	if open == f.last {
		open -= span
	}
	k := slices.IndexFunc(f.from, func(d donor) bool { return d.cf == a.CF || d.cf == rra.Average })
	for ds := range cdps {
		c := &cdps[ds]
		c.Primary, c.Secondary = rows[len(rows)-f.sources+ds], math.NaN()
		if k < 0 {
			c.Secondary = 0
			continue
		}
		switch d := &f.from[k]; {
		case d.newest <= open:
			c.Secondary = d.cdps[ds].Primary
		case open >= d.oldest+d.span:
			row := (open-d.oldest)/d.span - 1
			c.Secondary = d.rows[int(row)*f.sources+ds]
		}
	}
}

// emptyValue is what a row has gathered of nothing.
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

// addPDP adds one to what a row has gathered.
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
