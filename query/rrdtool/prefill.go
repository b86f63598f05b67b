package rrdtool

import (
	"cmp"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A prefill makes a series of what others hold: create --source, and alter.
type prefill struct {
	*parts
	sources []*parts
	// mapped says of each data source which of which series it is filled from; of one without a number, the first that has it.
	mapped []rra.Mapping
	// keep says that what an archive of the same rows holds stands, unknown rows too. Otherwise others fill those.
	keep bool
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

// A column is a data source of a series that gives.
type column struct {
	from *parts
	ds   int
}

// fill fills all data sources.
func (p *prefill) fill() {
	for ds := range p.d.Sources {
		columns := p.columns(ds)
		p.fillSource(ds, columns)
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

// fillSource takes over the open PDP and the last reading.
func (p *prefill) fillSource(ds int, columns []column) {
	for _, c := range columns {
		if c.from.d.Sources[c.ds].Kind != p.d.Sources[ds].Kind || !p.sameSlot(c.from, c.from.d.Step) {
			continue
		}
		x := &p.x.Sources[ds]
		old := c.from.x.Sources[c.ds]
		x.LastReading = old.LastReading
		gathered := c.from.last() % c.from.d.Step
		rest := p.last() % p.d.Step
		mean := math.NaN()
		if known := gathered - old.UnknownSec; known > 0 {
			mean = old.Value / float64(known)
		}
		switch {
		case p.d.Step == c.from.d.Step:
			x.Value, x.UnknownSec = old.Value, old.UnknownSec
		case rest == 0:
			x.Value, x.UnknownSec = 0, 0
		case mean == mean && rest <= gathered && old.UnknownSec == 0:
			x.Value, x.UnknownSec = mean*float64(rest), 0
		case mean == mean && rest > gathered:
			// What came before the source's open PDP is in its rows.
			x.Value, x.UnknownSec = old.Value, old.UnknownSec
			start := p.last() - rest
			v, covered := bin(rra.Average, start, start+rest-gathered, p.givers(rra.Average, rest-gathered, columns))
			x.UnknownSec += rest - gathered - covered
			if covered > 0 {
				x.Value += v * float64(covered)
			}
		}
		return
	}
}

// fillRows fills the ring of an archive.
func (p *prefill) fillRows(i, ds int, columns []column) {
	a := &p.d.Archives[i]
	span := a.PDPs * p.d.Step
	end := p.last() - p.last()%span - (a.Rows-1)*span
	n := len(p.d.Sources)
	exact := p.exact(a, columns)
	all := append(slices.Clone(exact), p.givers(a.CF, span, columns)...)
	for k := range int(a.Rows) {
		v, kept := p.kept(exact, end)
		if !kept {
			var covered int64
			if v, covered = bin(a.CF, end-span, end, all); float64(covered) <= a.XFF*float64(span) {
				v = math.NaN()
			}
		}
		p.rows[i][k*n+ds] = v
		end += span
	}
}

// kept returns the row that ends at end, if it is to stand as it is.
func (p *prefill) kept(exact []giver, end int64) (float64, bool) {
	for i := range exact {
		if g := &exact[i]; p.keep && end > g.oldest && end <= g.newest {
			return g.at(end - g.span), true
		}
	}
	return 0, false
}

// exact returns the archives that hold the very rows of a.
func (p *prefill) exact(a *rra.Archive, columns []column) []giver {
	span := a.PDPs * p.d.Step
	var out []giver
	for _, g := range p.givers(a.CF, span, columns) {
		if g.cf == a.CF && g.span == span && g.oldest%span == 0 { // an open PDP may be as long, and lie elsewhere
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(x, y giver) int { // those that had to know as much first
		return cmp.Compare(math.Abs(x.xff-a.XFF), math.Abs(y.xff-a.XFF))
	})
	return out
}

// A giver is a column of an archive that gives rows.
type giver struct {
	donor
	width, ds int
	xff       float64
	rank      int // those of a lower one are asked first
}

func (g *giver) at(t int64) float64 { return g.rows[int((t-g.oldest)/g.span)*g.width+g.ds] }

// givers returns the archives of the CF or of AVERAGE in the order in which they are asked for rows of span seconds: the finest
// first, then the longest. As rrdtool does, create asks those of AVERAGE before all others; alter asks those first whose rows say
// exactly what the rows to be made are.
func (p *prefill) givers(cf rra.CF, span int64, columns []column) []giver {
	var out []giver
	for _, c := range columns {
		d := &c.from.d
		// The open PDP counts as a row: a finer step closes a part of it.
		x := &c.from.x.Sources[c.ds]
		if gathered := c.from.last() % d.Step; gathered > 0 && x.UnknownSec == 0 && !math.IsNaN(x.Value) {
			mean := []float64{x.Value / float64(gathered)}
			out = append(out, giver{donor{rra.Average, gathered, c.from.last() - gathered, c.from.last(), mean}, 1, 0, 0, 0})
		}
		for i := range d.Archives {
			a := &d.Archives[i]
			if a.CF != cf && a.CF != rra.Average {
				continue
			}
			has := a.PDPs * d.Step
			newest := c.from.last() - c.from.last()%has
			g := giver{donor{a.CF, has, newest - a.Rows*has, newest, c.from.rows[i]}, len(d.Sources), c.ds, a.XFF, min(int(a.CF), 1)}
			if p.keep {
				g.rank = 1
				if has <= span && (a.CF == cf || a.PDPs == 1) {
					g.rank = 0
				}
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

// bin consolidates what is known of the time from start to end, each second of it once, and returns how many are.
func bin(cf rra.CF, start, end int64, from []giver) (float64, int64) {
	var (
		out     = math.NaN()
		newest  int64
		free    = []interval{{start, end}}
		covered int64
	)
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
			if seconds == end-start {
				return v, seconds // as it is, to the last bit
			}
			switch {
			case cf == rra.Average && covered == 0:
				out = v * float64(seconds)
			case cf == rra.Average:
				out += v * float64(seconds)
			case covered == 0:
				out = v
			case cf == rra.Min:
				out = min(out, v)
			case cf == rra.Max:
				out = max(out, v)
			case t >= newest:
				out = v
			}
			newest = max(newest, t)
			covered += seconds
		}
	}
	if cf == rra.Average && covered > 0 {
		out /= float64(covered)
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

// fillOpen fills in what an archive remembers of the row that is open.
func (p *prefill) fillOpen(i, ds int, columns []column) {
	a := &p.d.Archives[i]
	span := a.PDPs * p.d.Step
	if a.PDPs == 1 {
		return
	}
	x := &p.x.Archives[i].CDPs[ds]
	for _, c := range columns {
		d := &c.from.d
		for k := range d.Archives {
			b := &d.Archives[k]
			if b.CF == a.CF && b.PDPs == a.PDPs && d.Step == p.d.Step && c.from.last()/d.Step == p.last()/d.Step {
				*x = c.from.x.Archives[k].CDPs[c.ds]
				return
			}
		}
	}
	x.Value, x.Unknown = emptyValue(a.CF), 0
	steps := p.givers(rra.Average, p.d.Step, columns)
	for t := p.last() - p.last()%span; t+p.d.Step <= p.last(); t += p.d.Step {
		v, _ := bin(rra.Average, t, t+p.d.Step, steps)
		x.Value, x.Unknown = addPDP(a.CF, x.Value, x.Unknown, v)
	}
}

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
		if p.keep {
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
