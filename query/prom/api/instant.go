package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// Instant evaluates an expression at a time, for a client of this process: a request for data
// waits for a place as any other does. A scalar is a vector of one sample without labels. The error
// is that of a request with the same expression.
func (h *Handler) Instant(ctx context.Context, client, expr string, at time.Time) (promql.Vector, error) {
	t, err := h.queue.enter(ctx, client)
	if err != nil {
		return nil, err
	}
	defer t.leave()
	q, err := h.newQuery(ctx, promql.NewPrometheusQueryOpts(false, 0), expr, at, at, 0)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	out := q.Exec(ctx)
	if out.Err != nil {
		return nil, out.Err
	}
	switch v := out.Value.(type) {
	case promql.Vector:
		return slices.Clone(v), nil // Close takes the memory of v back
	case promql.Scalar:
		return promql.Vector{{T: v.T, F: v.V}}, nil
	}
	return nil, fmt.Errorf("the result is a %s, not a vector or a scalar", out.Value.Type())
}
