package query

import (
	"context"
	"fmt"
	"math"

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
	DS         []string // names of the data sources
	// Want lists the data sources to read, as places in DS. NewPoints lists all.
	Want []int

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
	plan := planOf(nil, p.ref, p.def, archive, o.Last, r)
	p.Archive, p.Start, p.End, p.Step, p.DS = archive, plan.Start, plan.End, plan.Step, plan.DS
	if most > 0 && plan.Rows() > most {
		// A range touches at most two rows more than fit into it.
		room := (most - 2) * plan.Step
		p.Every = max((r.End-r.Start+room-1)/room, 2)
		p.Step *= p.Every
		p.Start = floor(r.Start, p.Step)
		p.End = floor(r.End-1, p.Step) + p.Step
	}
	p.End = max(p.Start, min(p.End, ceil(o.Last, p.Step)))
	p.Want = make([]int, len(p.DS))
	for i := range p.Want {
		p.Want[i] = i
	}
	return p, nil
}

// After leaves out the points that end at t, in seconds since 1970, or before. The other points are
// the same as without it.
func (p *Points) After(t int64) { p.Start = max(p.Start, min(floor(t, p.Step), p.End)) }

// Len returns the number of points.
func (p *Points) Len() int64 { return (p.End - p.Start) / p.Step }

// Rows returns the number of rows of the archive.
func (p *Points) Rows() int64 { return p.Len() * p.Every }

// ReadPoints reads the points of many plans together. The last point of one may be shorter than the
// others: it ends where what is known of it ends, which is the End of the table. admit is called
// with the number of values before rows of other archives than a plan's own are read, and its error
// is the plan's. errs has the errors of single plans.
func ReadPoints(ctx context.Context, s core.Fetcher, all []*Points, admit func(values int64) error) (out []*Table, errs []error, err error) {
	foldings, joins := make([]folding, len(all)), make([]*Join, len(all))
	for i, p := range all {
		foldings[i].begin(p)
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
		foldings[i].table(&tables[i])
		out[i], errs[i] = &tables[i], joins[i].Err
	}
	return out, errs, nil
}

// A folding puts rows together as points.
type folding struct {
	p      *Points
	join   Join
	values []float64 // the points
	rows   []int64   // the point at hand, by place in Want
	counts []int64   // known rows of it
	ends   []int64   // where the last known row ends
}

func (f *folding) begin(p *Points) {
	n := len(p.Want)
	f.p, f.values = p, make([]float64, p.Len()*int64(n))
	for i := range f.values {
		f.values[i] = math.NaN()
	}
	state := make([]int64, 3*n)
	f.rows, f.counts, f.ends = state[:n], state[n:2*n], state[2*n:]
	f.join.init(p.ref, p.def, p.CF, p.Archive, p.Start, p.End, p.Step, p.Want, p.open, f.take)
}

// take takes the next rows of the archive.
func (f *folding) take(r *core.Rows) {
	p, n, from := f.p, len(f.counts), len(r.DS)
	if len(r.Values) == 0 {
		return
	}
	for at, ds := range p.Want {
		row, end := f.rows[at], r.Start
		until := p.Start + (row+1)*p.Step
		to := int((end-p.Start)/r.Step)*n + at // the place of a row that is a point
		for i := ds; i < len(r.Values); i, to = i+from, to+n {
			end += r.Step
			v := r.Values[i]
			if v != v {
				continue
			}
			if p.Every == 1 {
				f.values[to], f.ends[at] = v, end
				continue
			}
			if end > until {
				f.point(at)
				row = (end - 1 - p.Start) / p.Step
				until = p.Start + (row+1)*p.Step
				f.rows[at], f.counts[at] = row, 0
			}
			of := &f.values[row*int64(n)+int64(at)]
			*of, f.counts[at] = consolidate(p.CF, *of, f.counts[at], v)
			f.ends[at] = end
		}
	}
}

// point ends a point. One that the archive knows in part may get more.
func (f *folding) point(at int) {
	n := f.counts[at]
	if n == 0 {
		return
	}
	of := &f.values[f.rows[at]*int64(len(f.counts))+int64(at)]
	if n < f.p.Every {
		f.join.point(f.rows[at], at).add(f.p.CF, *of, f.p.Step/f.p.Every, n, f.ends[at])
	}
	if meanCF(f.p.CF) {
		*of /= float64(n)
	}
}

// finish ends the last points.
func (f *folding) finish() {
	for at := range f.counts {
		f.point(at)
	}
}

// table sets t to the points.
func (f *folding) table(t *Table) {
	p, n := f.p, int64(len(f.counts))
	*t = Table{Start: p.Start, End: p.End, Step: p.Step, Archive: p.Archive, Values: f.values, DS: make([]string, 0, n)}
	for _, i := range p.Want {
		t.DS = append(t.DS, p.DS[i])
	}
	newest := t.Start
	for _, end := range f.ends {
		newest = max(newest, end)
	}
	f.join.Each(func(row int64, at int, v float64, _, end int64) {
		t.Values[row*n+int64(at)] = v
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
