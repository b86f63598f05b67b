package query

import (
	"context"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// MinPoints is the fewest points that [NewPoints] plans for: a range that is not a whole number of
// rows begins and ends within one.
const MinPoints = 3

// Points is a plan for a chart: about as many rows as the chart has points. It reads the coarsest
// archive that has enough rows. If that has more rows than points, it makes one row of Every rows,
// by the consolidation function. Of predictions it takes the mean.
type Points struct {
	Plan  *Plan // the rows that are read
	Every int64 // rows of Plan in one row
	CF    rra.CF
}

// NewPoints plans at most most rows for r, but at least [MinPoints]. The resolution and the
// alignment of r do not matter. A Chooser chooses rows of its own. The error is ErrNoArchive if no
// archive has the CF, or an error of the store.
func NewPoints(s Store, ref core.Ref, r Request, most int64) (*Points, error) {
	most = max(most, MinPoints)
	r.Resolution, r.Align = max((r.End-r.Start)/most, 1), false
	p, err := newPlan(s, ref, r, func(d *rra.Definition, last int64) (int, error) {
		return d.ChooseFiner(last, r.CF, r.Start, r.Resolution)
	})
	if err != nil {
		return nil, err
	}
	points := &Points{Plan: p, Every: 1, CF: r.CF}
	if p.Rows() <= most || p.whole != nil {
		return points, nil
	}
	// A range touches at most two rows more than fit into it.
	room := (most - 2) * p.Step
	points.Every = max((r.End-r.Start+room-1)/room, 2)
	p.Start = floor(r.Start, points.Step())
	p.End = floor(r.End-1, points.Step()) + points.Step()
	return points, nil
}

// After leaves out the rows that end at t, in seconds since 1970, or before. The other rows are the
// same as without it. It changes nothing if the store is a Chooser.
func (p *Points) After(t int64) {
	if p.Plan.whole == nil {
		p.Plan.Start = max(p.Plan.Start, min(floor(t, p.Step()), p.Plan.End))
	}
}

// Step returns the seconds of a row.
func (p *Points) Step() int64 { return p.Plan.Step * p.Every }

// Rows returns the number of rows.
func (p *Points) Rows() int64 { return p.Plan.Rows() / p.Every }

// Each reads the rows in order and calls fn with each row: its number, counted from 0, and its
// values in the order of the data sources, which are valid until fn returns.
func (p *Points) Each(ctx context.Context, fn func(row int64, values []float64)) error {
	n := len(p.Plan.DS)
	values, counts := make([]float64, n), make([]int64, n)
	row, in := int64(0), int64(0)
	for piece, err := range p.Plan.Pieces(ctx) {
		if err != nil {
			return err
		}
		for i := range piece.Len() {
			_, some := piece.Row(i)
			if p.Every == 1 {
				fn(row, some)
				row++
				continue
			}
			if in == 0 {
				for j := range values {
					values[j], counts[j] = math.NaN(), 0
				}
			}
			for j, v := range some {
				values[j], counts[j] = consolidate(p.CF, values[j], counts[j], v)
			}
			if in++; in < p.Every {
				continue
			}
			for j := range values {
				if counts[j] > 0 && meanCF(p.CF) {
					values[j] /= float64(counts[j])
				}
			}
			fn(row, values)
			row, in = row+1, 0
		}
	}
	return nil
}

// consolidate adds v to what n known values have given so far: their sum for a mean, else the
// consolidated value. An unknown v changes nothing.
func consolidate(cf rra.CF, sum float64, n int64, v float64) (float64, int64) {
	switch {
	case math.IsNaN(v):
		return sum, n
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
