package rrdtool

import (
	"cmp"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// A column is a data source of a series that gives.
type column struct {
	from *parts
	ds   int
}

// A giver is a column of an archive that gives rows.
type giver struct {
	donor
	width, ds int
	xff       float64
	rank      int // givers of a lower rank are asked first
}

func (g *giver) at(t int64) float64 { return g.rows[int((t-g.oldest)/g.span)*g.width+g.ds] }

// archive returns an archive of the column as a giver.
func (c column) archive(i int) giver {
	a := &c.from.d.Archives[i]
	span := a.PDPs * c.from.d.Step
	newest := c.from.last() - c.from.last()%span
	rows := donor{cf: a.CF, span: span, oldest: newest - a.Rows*span, newest: newest, rows: c.from.rows[i]}
	return giver{donor: rows, width: len(c.from.d.Sources), ds: c.ds, xff: a.XFF}
}

// openPDP returns what the column has gathered of its open PDP as a giver of one row, if all of it is known.
func (c column) openPDP() (giver, bool) {
	x := &c.from.x.Sources[c.ds]
	gathered := c.from.last() % c.from.d.Step
	if gathered == 0 || x.UnknownSec != 0 || math.IsNaN(x.Value) {
		return giver{}, false
	}
	mean := []float64{x.Value / float64(gathered)}
	row := donor{cf: rra.Average, span: gathered, oldest: c.from.last() - gathered, newest: c.from.last(), rows: mean}
	return giver{donor: row, width: 1}, true
}

// givers returns the archives of the CF or of AVERAGE, in the order in which they are asked for rows of span seconds.
//
// create asks all archives of the first series before those of the second: first those of the very rows, then those of AVERAGE,
// finer before coarser, longer before shorter. alter asks first those whose rows say exactly what the rows to be made are.
func (p *prefill) givers(cf rra.CF, span int64, columns []column) []giver {
	var out []giver
	for k, c := range columns {
		if open, ok := c.openPDP(); ok && p.altering {
			out = append(out, open) // a finer step closes a part of it
		}
		for i := range c.from.d.Archives {
			if a := &c.from.d.Archives[i]; a.CF != cf && a.CF != rra.Average {
				continue
			}
			g := c.archive(i)
			switch {
			case !p.altering:
				g.rank = 3*k + 1 + min(int(g.cf), 1)
				if g.cf == cf && g.span == span {
					g.rank = 3 * k
				}
			case g.span > span || g.cf != cf && g.span != c.from.d.Step:
				g.rank = 1
			}
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b giver) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.span, b.span), cmp.Compare(min(a.cf, 1), min(b.cf, 1)),
			cmp.Compare(b.newest-b.oldest, a.newest-a.oldest))
	})
	return out
}

// reaching returns the givers whose rows reach from start to end. As in rrdtool, create asks no others for a row of that time.
func (p *prefill) reaching(from []giver, start, end int64) []giver {
	short := func(g giver) bool { return g.oldest > start || g.newest < end }
	if p.altering || !slices.ContainsFunc(from, short) {
		return from
	}
	return slices.DeleteFunc(slices.Clone(from), short)
}

// bin consolidates what is known of the time from start to end, each second of it once, and returns how many seconds are known.
//
// create computes as rrdtool does, to the last bit: an average is a sum of shares of the row, even where it is one row's value, and
// LAST is the row that was asked for last. For alter a row that is there stays as it is, and LAST is the latest row.
func (p *prefill) bin(cf rra.CF, start, end int64, from []giver) (float64, int64) {
	var (
		out     = math.NaN()
		newest  int64
		free    = []interval{{start, end}}
		span    = float64(end - start)
		covered int64
	)
	share := func(v float64, seconds int64) float64 {
		if p.altering {
			return float64(v * float64(seconds))
		}
		return float64(float64(v/span) * float64(seconds))
	}
	for i := range from {
		g := &from[i]
		if len(free) == 0 {
			break
		}
		for t := g.oldest + max(0, (start-g.oldest)/g.span)*g.span; t < min(end, g.newest); t += g.span {
			v := g.at(t)
			if t+g.span <= start || v != v {
				continue
			}
			var seconds int64
			if free, seconds = take(free, t, t+g.span); seconds == 0 {
				continue
			}
			if seconds == end-start && p.altering {
				return v, seconds
			}
			switch {
			case cf == rra.Average && covered == 0:
				out = share(v, seconds)
			case cf == rra.Average:
				out += share(v, seconds)
			case covered == 0:
				out = v
			case cf == rra.Min:
				out = min(out, v)
			case cf == rra.Max:
				out = max(out, v)
			case t >= newest || !p.altering:
				out = v
			}
			newest = max(newest, t)
			covered += seconds
		}
	}
	if cf == rra.Average && covered > 0 {
		if out /= float64(covered); !p.altering {
			out = float64(out * span)
		}
	}
	return out, covered
}

// An interval is the time from start to end.
type interval struct{ start, end int64 }

// take cuts the time from start to end out of free, and says how many seconds of it were there.
func take(free []interval, start, end int64) ([]interval, int64) {
	var out []interval
	var seconds int64
	for _, f := range free {
		a, b := max(f.start, start), min(f.end, end)
		if a >= b {
			out = append(out, f)
			continue
		}
		seconds += b - a
		if f.start < a {
			out = append(out, interval{f.start, a})
		}
		if b < f.end {
			out = append(out, interval{b, f.end})
		}
	}
	return out, seconds
}
