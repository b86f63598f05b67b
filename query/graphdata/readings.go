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
		d := p.elems[i].def
		if d == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		store, ref, err := s.Open(ctx, d.file, d.daemon)
		if err != nil {
			if p.options.MissingIsUnknown {
				_, _, rows := p.unknown(d)
				readings = append(readings, Reading{Kept: rows})
				continue
			}
			return nil, err
		}
		plan, err := query.NewPlan(store, ref, d.request())
		if err != nil {
			return nil, err
		}
		readings = append(readings, Reading{ref, plan, reducedRows(plan, p.factor(d, plan))})
	}
	return readings, nil
}

func (d *definition) request() query.Request {
	return query.Request{CF: d.cf, Start: d.start, End: d.end, Resolution: d.step}
}
