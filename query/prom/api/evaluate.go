package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/prom/bound"
)

// A Question is an expression and the times at which it is evaluated, for a client of this process.
type Question struct {
	Expr       string
	Start, End time.Time
	Step       time.Duration // at least a millisecond; 0: the expression is evaluated at End
	Lookback   time.Duration // how far an instant vector looks back; 0: five minutes
	Limit      int           // series in the result; 0: no limit
}

// Evaluate evaluates an expression as a request to query or query_range does. fn may use the result
// until it returns. The error comes from such a request, and KindOf sorts it, or from fn.
func (h *Handler) Evaluate(ctx context.Context, client string, q Question, fn func(result parser.Value, warnings []string) error) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	defer func() { h.counts.seconds.Observe(time.Since(began)) }()
	err := h.evaluate(ctx, &turn{running: h.running, client: client}, h.asker, q, fn)
	if err == nil {
		h.counts.answered.Add(1)
		return nil
	}
	h.counts.fail(err)
	return err
}

// evaluate evaluates an expression in a turn.
func (h *Handler) evaluate(ctx context.Context, t *turn, asker Asker, q Question, fn func(result parser.Value, warnings []string) error) error {
	var b bound.Budget
	if err := b.Expression(q.Expr); err != nil {
		return &failure{BadData, err}
	}
	if q.Step >= time.Millisecond && points(q.Step, q.Start, q.End) > maxPoints {
		return bad("more than %d times: take a longer step, or a shorter range", maxPoints)
	}
	if err := t.resume(ctx); err != nil {
		return err
	}
	defer t.pause()
	opts := promql.NewPrometheusQueryOpts(false, q.Lookback)
	prepared, err := h.newQuery(ctx, asker, opts, q.Expr, q.Start, q.End, max(q.Step, 0))
	if err != nil {
		return &failure{BadData, err}
	}
	defer prepared.Close()
	out := prepared.Exec(ctx)
	if out.Err != nil {
		return out.Err
	}
	if q.Limit > 0 && cut(out, q.Limit) {
		out.Warnings = out.Warnings.Add(errCut)
	}
	if err := limit.Of(ctx).Charge(sizeOf(out.Value)); err != nil {
		return err
	}
	const most = 10 // of each kind
	warnings, infos := out.Warnings.AsStrings(q.Expr, most, most)
	return fn(out.Value, append(warnings, infos...))
}

// Instant evaluates an expression at a time for the rules of this process. Rules have places of
// their own, as many as all clients together, and never wait for a client. A scalar is a vector of
// one sample without labels. The error is the one of a request with the same expression.
func (h *Handler) Instant(ctx context.Context, expr string, at time.Time) (vector promql.Vector, err error) {
	err = h.evaluate(ctx, &turn{running: h.rulesRunning}, h.rulesAsker, Question{Expr: expr, End: at}, func(result parser.Value, _ []string) error {
		switch v := result.(type) {
		case promql.Vector:
			vector = slices.Clone(v) // the memory of v is taken back
		case promql.Scalar:
			vector = promql.Vector{{T: v.T, F: v.V}}
		default:
			return fmt.Errorf("the result is a %s, not a vector or a scalar", v.Type())
		}
		return nil
	})
	return vector, err
}
