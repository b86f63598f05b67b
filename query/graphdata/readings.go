package graphdata

import (
	"context"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
)

// A Reading is the rows that Run will read for a DEF.
type Reading struct {
	Ref  core.Ref
	Plan *query.Plan // nil: the series cannot be opened, and its rows are unknown
	Kept int64       // rows that the DEF has when those that were read are reduced
}

// Readings returns what Run will read, in the order of the DEFs, and reads no rows. DEFs that need
// the same rows have equal readings. One whose series cannot be opened is an error, unless
// Options.MissingIsUnknown is set. It returns the errors of Run.
func (p *Program) Readings(ctx context.Context, s Source) ([]Reading, error) {
	var readings []Reading
	for i := range p.elems {
		if d := p.elems[i].def; d != nil {
			r, err := p.reading(ctx, s, d)
			if err != nil {
				return nil, err
			}
			readings = append(readings, r)
		}
	}
	return readings, nil
}

// reading returns the rows of a DEF.
func (p *Program) reading(ctx context.Context, s Source, d *definition) (Reading, error) {
	if err := ctx.Err(); err != nil {
		return Reading{}, err
	}
	store, ref, err := s.Open(ctx, d.file, d.daemon)
	if err != nil && p.options.MissingIsUnknown && ctx.Err() == nil {
		_, _, rows := p.unknown(d)
		return Reading{Kept: rows}, nil
	}
	if err != nil {
		return Reading{}, err
	}
	plan, err := query.NewPlan(store, ref, query.Request{CF: d.cf, Start: d.start, End: d.end, Resolution: d.step})
	if err != nil {
		return Reading{}, err
	}
	return Reading{ref, plan, reducedRows(plan, p.factor(d, plan))}, nil
}
