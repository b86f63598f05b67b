package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/query/prom/bound"
)

// Instant evaluates an expression at a time for the rules of this process. Rules have places of
// their own, as many as all clients together, and never wait for a client. A scalar is a vector of
// one sample without labels. The error is the one of a request with the same expression.
func (h *Handler) Instant(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	var b bound.Budget
	if err := b.Expression(expr); err != nil {
		return nil, &failure{badData, err}
	}
	if !h.rulesRunning.Wait(ctx, "", 1, queryTime) {
		return nil, refused(ctx)
	}
	defer h.rulesRunning.Give("", 1)
	q, err := h.newQuery(ctx, h.rulesAsker, promql.NewPrometheusQueryOpts(false, 0), expr, at, at, 0)
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
