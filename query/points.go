package query

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// MinPoints is the fewest points that [NewPoints] plans for: a range that is not a whole number of
// rows begins and ends within one.
const MinPoints = 3

// Points is a plan for a chart: about as many points as the chart has room for. A point is Every
// rows of one archive, put together by the consolidation function; what that archive does not know
// of its time, others do: see [Join]. Of predictions it is the mean of the rows.
type Points struct {
	Archive    int
	Start, End int64 // the points cover (Start, End], in seconds since 1970
	Step       int64 // seconds a point
	Every      int64 // rows of the archive in a point
	CF         rra.CF
	Want       []int // places of the data sources to read; nil: all

	ref  core.Ref
	def  *rra.Definition
	open *Open
}

// NewPoints plans at most most points for r, but at least [MinPoints], from the coarsest archive
// that has enough rows. The resolution and the alignment of r do not matter then. If most is 0, the
// points are the rows that [NewPlan] takes. No point begins at or behind the last update of the
// series. o is the open row of the series. The error is ErrNoArchive if no archive has the CF,
// ErrNotFound, or o's.
func NewPoints(series core.Series, o *Open, r Request, most int64) (*Points, error) {
	if o.Err != nil {
		return nil, o.Err
	}
	if !o.There {
		return nil, fmt.Errorf("series %.200q: %w", series.Path, core.ErrNotFound)
	}
	p := &Points{Every: 1, CF: r.CF, ref: series.Ref, def: series.Definition, open: o}
	choose := p.def.Choose
	if r.Resolution = max(r.Resolution, 1); most > 0 {
		most = max(most, MinPoints)
		r.Resolution, choose = max((r.End-r.Start)/most, 1), p.def.ChooseFiner
	}
	archive, err := choose(o.Last, r.CF, r.Start, r.Resolution)
	if err != nil {
		return nil, err
	}
	p.Archive, p.Step = archive, p.def.Step*p.def.Archives[archive].PDPs
	p.Start, p.End = wholeRows(r, p.Step)
	if most > 0 && p.Len() > most {
		// A range touches at most two rows more than fit into it.
		room := (most - 2) * p.Step
		p.Every = max((r.End-r.Start+room-1)/room, 2)
		p.Step *= p.Every
		p.Start = Floor(r.Start, p.Step)
		p.End = Floor(r.End-1, p.Step) + p.Step
	}
	p.End = max(p.Start, min(p.End, Ceil(o.Last, p.Step)))
	return p, nil
}

// After leaves out the points that end at t, in seconds since 1970, or before. The other points are
// the same as without it.
func (p *Points) After(t int64) { p.Start = max(p.Start, min(Floor(t, p.Step), p.End)) }

// Len returns the number of points.
func (p *Points) Len() int64 { return (p.End - p.Start) / p.Step }

// Columns returns the number of data sources that are read.
func (p *Points) Columns() int {
	if p.Want == nil {
		return len(p.def.Sources)
	}
	return len(p.Want)
}

// Rows returns the number of rows of the archive.
func (p *Points) Rows() int64 { return p.Len() * p.Every }

// ReadPoints reads the points of many plans together. The last point of one may be shorter than the
// others: it ends where what is known of it ends, which is the End of the table. admit is called
// with the number of values before rows of other archives than a plan's own are read, and its error
// is the plan's. errs has the errors of single plans.
func ReadPoints(ctx context.Context, s core.Fetcher, all []*Points, admit func(values int64) error) (out []*Table, errs []error, err error) {
	foldings, joins := foldingsOf(all), make([]*Join, len(all))
	for i := range foldings {
		joins[i] = &foldings[i].join
	}
	if err := ReadBases(ctx, s, joins, admit); err != nil {
		return nil, nil, err
	}
	for i := range foldings {
		foldings[i].finish()
	}
	if err := Fill(ctx, s, joins, admit); err != nil {
		return nil, nil, err
	}
	tables := make([]Table, len(all))
	out, errs = make([]*Table, len(all)), make([]error, len(all))
	for i := range foldings {
		if f := &foldings[i]; i > 0 && f.p.def == all[i-1].def && slices.Equal(f.want, foldings[i-1].want) {
			tables[i].DS = tables[i-1].DS
		}
		foldings[i].table(&tables[i])
		out[i], errs[i] = &tables[i], joins[i].Err
	}
	return out, errs, nil
}

// A folding puts rows together as points.
type folding struct {
	p       *Points
	join    Join
	want    []int
	values  []float64 // the points
	columns []folded  // by place in want
}

// A folded is the point of a data source at hand.
type folded struct {
	row   int64 // its number
	count int64 // known rows of it
	end   int64 // where the last known row ends
}

// foldingsOf begins a folding of each plan.
func foldingsOf(all []*Points) []folding {
	columns, values, sources := 0, int64(0), 0
	for _, p := range all {
		n := p.Columns()
		columns, values, sources = columns+n, values+p.Len()*int64(n), max(sources, n)
	}
	out, state, every := make([]folding, len(all)), make([]folded, columns), make([]int, sources)
	room := slices.Repeat([]float64{math.NaN()}, int(values))
	for i := range every {
		every[i] = i
	}
	for i, p := range all {
		f, n := &out[i], p.Columns()
		size := int(p.Len()) * n
		if f.p, f.want = p, p.Want; f.want == nil {
			f.want = every[:n]
		}
		f.columns, state = state[:n], state[n:]
		f.values, room = room[:size:size], room[size:]
		f.join.Init(p.ref, p.def, p.CF, p.Archive, p.Start, p.End, p.Step, f.want, p.open, f)
	}
	return out
}

// Take takes the next rows of the archive.
func (f *folding) Take(r *core.Rows) {
	p, n, from := f.p, len(f.columns), len(r.DS)
	if len(r.Values) == 0 {
		return
	}
	for at, ds := range f.want {
		c, end := &f.columns[at], r.Start
		until := p.Start + (c.row+1)*p.Step
		to := int((end-p.Start)/r.Step)*n + at // the place of a row that is a point
		for i := ds; i < len(r.Values); i, to = i+from, to+n {
			end += r.Step
			v := r.Values[i]
			if v != v {
				continue
			}
			if p.Every == 1 {
				f.values[to], c.end = v, end
				continue
			}
			if end > until {
				f.point(at)
				c.row, c.count = (end-1-p.Start)/p.Step, 0
				until = p.Start + (c.row+1)*p.Step
			}
			of := &f.values[c.row*int64(n)+int64(at)]
			*of, c.count = consolidate(p.CF, *of, c.count, v)
			c.end = end
		}
	}
}

// point ends a point. One that the archive knows in part may get more.
func (f *folding) point(at int) {
	c := &f.columns[at]
	if c.count == 0 {
		return
	}
	of := &f.values[c.row*int64(len(f.columns))+int64(at)]
	if c.count < f.p.Every {
		f.join.point(c.row, at).add(f.p.CF, *of, f.p.Step/f.p.Every, c.count, c.end)
	}
	if meanCF(f.p.CF) {
		*of /= float64(c.count)
	}
}

// finish ends the last points.
func (f *folding) finish() {
	for at := range f.columns {
		f.point(at)
	}
}

// table sets t to the points. It makes the names of the data sources, unless t has them.
func (f *folding) table(t *Table) {
	p, n := f.p, len(f.columns)
	*t = Table{Start: p.Start, End: p.End, Step: p.Step, Archive: p.Archive, Values: f.values, DS: t.DS}
	if t.DS == nil {
		t.DS = make([]string, n)
		for at, i := range f.want {
			t.DS[at] = p.def.Sources[i].Name
		}
	}
	newest := t.Start
	for at := range f.columns {
		newest = max(newest, f.columns[at].end)
	}
	f.join.Each(func(row int64, at int, v float64, _, end int64) {
		t.Values[int(row)*n+at] = v
		newest = max(newest, end)
	})
	if newest > t.End-t.Step {
		t.End = newest
	}
}

// consolidate adds v to what n known values have given so far: their sum for a mean, else the
// consolidated value.
func consolidate(cf rra.CF, sum float64, n int64, v float64) (float64, int64) {
	switch {
	case n == 0 || cf == rra.Last:
		return v, n + 1
	case cf == rra.Min:
		return min(sum, v), n + 1
	case !meanCF(cf):
		return max(sum, v), n + 1
	}
	return sum + v, n + 1
}

// meanCF reports whether rows of cf are put together as their mean.
func meanCF(cf rra.CF) bool {
	return cf != rra.Min && cf != rra.Max && cf != rra.Last && cf != rra.Failures
}

// A point is what is known of a point so far.
type point struct {
	slot
	sum     float64 // of n parts of each seconds; the value, if it is no mean
	n, each int64
	total   float64 // of values times seconds, of parts before
	seconds int64
	end     int64 // of the last known part
}

// add adds n parts of each seconds, up to end, by their sum or value.
func (p *point) add(cf rra.CF, sum float64, each, n, end int64) {
	if p.n > 0 && p.each != each {
		p.total, p.seconds = p.total+p.sum*float64(p.each), p.seconds+p.n*p.each
		if meanCF(cf) {
			p.sum = 0
		}
		p.n = 0
	}
	p.each = each
	switch none := p.n+p.seconds == 0; {
	case meanCF(cf):
		p.sum += sum
	case none, cf == rra.Min && sum < p.sum, cf == rra.Max && sum > p.sum, cf == rra.Last && end > p.end:
		p.sum = sum
	}
	p.n, p.end = p.n+n, max(p.end, end)
}

// value returns the value of p. Parts that are equally long give their mean as rows do.
func (p *point) value(cf rra.CF) float64 {
	switch {
	case !meanCF(cf):
		return p.sum
	case p.seconds == 0:
		return p.sum / float64(p.n)
	}
	return (p.total + p.sum*float64(p.each)) / float64(p.seconds+p.n*p.each)
}
