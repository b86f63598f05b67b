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
	Plan  *Plan // the rows that are read
	Every int64 // rows of Plan in a point
	CF    rra.CF
	// Want lists the data sources to read, as places in Plan.DS. NewPoints lists all.
	Want []int

	store Reader
	def   *rra.Definition
	open  Open
}

// NewPoints plans at most most points for r, but at least [MinPoints], from the coarsest archive
// that has enough rows. The resolution and the alignment of r do not matter then. If most is 0, the
// points are the rows that [NewPlan] takes. No point begins at or behind the last update of the
// series. The error is ErrNoArchive if no archive has the CF, or an error of the store.
func NewPoints(ctx context.Context, s core.Engine, ref core.Ref, r Request, most int64) (*Points, error) {
	store := core.Simple{Engine: s}
	series, err := store.Series(ref)
	if err != nil {
		return nil, err
	}
	open, err := Opens(ctx, s, []core.Ref{ref})
	if err != nil {
		return nil, err
	}
	if !open[0].There {
		return nil, fmt.Errorf("series %.200q: %w", series.Path, core.ErrNotFound)
	}
	p := &Points{Every: 1, CF: r.CF, store: s, def: series.Definition, open: open[0]}
	last := p.open.Last
	choose := p.def.Choose
	if r.Resolution = max(r.Resolution, 1); most > 0 {
		most = max(most, MinPoints)
		r.Resolution, choose = max((r.End-r.Start)/most, 1), p.def.ChooseFiner
	}
	archive, err := choose(last, r.CF, r.Start, r.Resolution)
	if err != nil {
		return nil, err
	}
	p.Plan = planOf(store, ref, p.def, archive, last, r)
	if most > 0 && p.Plan.Rows() > most {
		// A range touches at most two rows more than fit into it.
		room := (most - 2) * p.Plan.Step
		p.Every = max((r.End-r.Start+room-1)/room, 2)
		p.Plan.Start = floor(r.Start, p.Step())
		p.Plan.End = floor(r.End-1, p.Step()) + p.Step()
	}
	p.Plan.End = max(p.Plan.Start, min(p.Plan.End, -floor(-last, p.Step())))
	for i := range p.Plan.DS {
		p.Want = append(p.Want, i)
	}
	return p, nil
}

// After leaves out the points that end at t, in seconds since 1970, or before. The other points are
// the same as without it.
func (p *Points) After(t int64) {
	p.Plan.Start = max(p.Plan.Start, min(floor(t, p.Step()), p.Plan.End))
}

// Step returns the seconds of a point.
func (p *Points) Step() int64 { return p.Plan.Step * p.Every }

// Rows returns the number of points.
func (p *Points) Rows() int64 { return p.Plan.Rows() / p.Every }

// Read reads the points. The last one may be shorter than the others: it ends where what is known
// of it ends, which is the End of the table. admit is called with the number of values before rows
// of other archives than Plan's are read, and its error ends Read.
func (p *Points) Read(ctx context.Context, admit func(values int64) error) (*Table, error) {
	n := len(p.Want)
	t := &Table{Start: p.Plan.Start, End: p.Plan.End, Step: p.Step(), Archive: p.Plan.Archive}
	for _, i := range p.Want {
		t.DS = append(t.DS, p.Plan.DS[i])
	}
	t.Values = make([]float64, p.Rows()*int64(n))
	f := &folding{p: p, values: t.Values, join: NewJoin(p.Plan.ref, p.def, p.CF, p.Plan.Archive, t.Start, t.Step, p.Want, &p.open)}
	f.counts, f.ends = make([]int64, n), make([]int64, n)
	for piece, err := range p.Plan.Pieces(ctx) {
		if err != nil {
			return nil, err
		}
		f.rows(piece)
	}
	if err := Fill(ctx, p.store, []*Join{f.join}, admit); err != nil {
		return nil, err
	}
	newest := slices.Max(append(f.ends, t.Start))
	f.join.Each(func(row int64, at int, v float64, _, end int64) {
		t.Values[row*int64(n)+int64(at)] = v
		newest = max(newest, end)
	})
	if newest > t.End-t.Step {
		t.End = newest
	}
	return t, nil
}

// A folding puts rows together as points.
type folding struct {
	p      *Points
	join   *Join
	values []float64 // the points
	row    int64     // the point at hand
	in     int64     // rows of it so far
	counts []int64   // known ones, by place in Want
	ends   []int64   // where the last known row ends
}

// rows takes the next rows of the archive.
func (f *folding) rows(piece *Table) {
	n := len(f.counts)
	for i := range piece.Len() {
		end, some := piece.Row(i)
		values := f.values[f.row*int64(n):][:n]
		for at, ds := range f.p.Want {
			v := some[ds]
			if f.in == 0 {
				values[at], f.counts[at] = math.NaN(), 0
			}
			if v != v {
				f.join.Hole(at, end-piece.Step, end)
				continue
			}
			values[at], f.counts[at] = consolidate(f.p.CF, values[at], f.counts[at], v)
			f.ends[at] = end
		}
		if f.in++; f.in == f.p.Every {
			f.point(values)
		}
	}
}

// point ends a point. One that the archive knows in part may get more.
func (f *folding) point(values []float64) {
	for at, n := range f.counts {
		if n == 0 {
			continue
		}
		if n < f.p.Every {
			f.join.point(f.row, at).add(f.p.CF, values[at], f.p.Plan.Step, n, f.ends[at])
		}
		if meanCF(f.p.CF) && f.p.Every > 1 {
			values[at] /= float64(n)
		}
	}
	f.row, f.in = f.row+1, 0
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
