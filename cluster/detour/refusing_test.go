package detour_test

import (
	"context"

	"github.com/rondo-db/rondo/engine/core"
)

// A refusing leader makes no series with the path "bad".
type refusing struct{ *leader }

func (r *refusing) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	made := make([]core.Created, len(specs))
	for i, s := range specs {
		if s.Path == "bad" {
			made[i].Err = core.ErrSeriesLimit
			continue
		}
		one, err := r.leader.CreateBatch(ctx, []core.Spec{s})
		if err != nil {
			return nil, err
		}
		made[i] = one[0]
	}
	return made, nil
}
