package reshape

import (
	"cmp"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// Donors are the archives of a series that give rows to other archives of the same series, by the
// rules of rrdtool's tune:
//
//   - Archives of the same CF and of AVERAGE are asked, finer ones first, then longer ones.
//     Archives that reach back to the beginning of a row come before all others.
//   - The first archive that knows a value gives the row. An average counts every overlapping row
//     once, however much of it overlaps.
type Donors struct {
	step, last int64
	columns    [][]donor // for each data source, in the order in which they are asked
}

// Donors returns the archives as they are now. Later changes of s do not change what they give.
func (s *Series) Donors() *Donors {
	f := &Donors{step: s.Definition.Step, last: s.Last()}
	for ds := range s.Definition.Sources {
		var donors []donor
		for i := range s.Definition.Archives {
			if s.Definition.Archives[i].CF <= rra.Last {
				donors = append(donors, column{s, ds}.archive(i))
			}
		}
		slices.SortStableFunc(donors, func(a, b donor) int {
			return cmp.Or(cmp.Compare(a.span, b.span), len(b.rows)-len(a.rows))
		})
		f.columns = append(f.columns, donors)
	}
	return f
}

// rows returns count rows of a. The last of them is skip rows before the last row of a.
func (f *Donors) rows(a *rra.Archive, count, skip int64) []float64 {
	out := unknown(int(count) * len(f.columns))
	if a.CF > rra.Last {
		return out
	}
	span := a.PDPs * f.step
	first := f.last - f.last%span - (skip+count-1)*span
	for ds := range f.columns {
		fillRing(out, len(f.columns), ds, first, span, func(start, end int64) float64 { return f.row(a.CF, start, end, ds) })
	}
	return out
}

// row returns the value of a data source for the time from start to end.
func (f *Donors) row(cf rra.CF, start, end int64, ds int) float64 {
	for _, whole := range []bool{true, false} {
		for i := range f.columns[ds] {
			d := &f.columns[ds][i]
			if d.cf != cf && d.cf != rra.Average || (d.oldest <= start) != whole {
				continue
			}
			if v := d.fold(cf, start, end); v == v {
				return v
			}
		}
	}
	return math.NaN()
}

// fold consolidates the known rows that overlap the time from start to end.
func (d *donor) fold(cf rra.CF, start, end int64) float64 {
	var (
		out   = math.NaN()
		count int
	)
	for t := d.from(start); t < min(end, d.newest); t += d.span {
		if t+d.span <= start {
			continue
		}
		v := d.at(t)
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

// fillCDPs sets what an archive that is added remembers: the row that is open, the last row
// (Primary), and the PDP before the open row (Secondary).
//
// For Secondary, rrdtool takes the row before the open one from the first archive that gives rows.
// If that archive has closed no row since, its Primary is taken. A row that ends exactly with the
// last update counts as open here.
func (f *Donors) fillCDPs(a *rra.Archive, rows []float64, cdps []rra.CDP) {
	span := a.PDPs * f.step
	open := f.last - f.last%span
	for ds := range cdps {
		c := &cdps[ds]
		if a.PDPs > 1 {
			c.Value, c.Unknown = gather(a.CF, open, f.last-f.last%f.step, f.step, func(t int64) float64 { return f.row(a.CF, t, t+f.step, ds) })
		}
		c.Primary, c.Secondary = rows[len(rows)-len(cdps)+ds], f.before(a.CF, open, span, ds)
	}
}

// before returns the PDP before the row that is open since open.
func (f *Donors) before(cf rra.CF, open, span int64, ds int) float64 {
	if open == f.last {
		open -= span
	}
	k := slices.IndexFunc(f.columns[ds], func(d donor) bool { return d.cf == cf || d.cf == rra.Average })
	if k < 0 {
		return 0
	}
	switch d := &f.columns[ds][k]; {
	case d.newest <= open:
		return d.primary
	case open >= d.oldest+d.span:
		return d.at(d.oldest + ((open-d.oldest)/d.span-1)*d.span)
	}
	return math.NaN()
}
