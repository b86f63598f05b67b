package api

import (
	"context"
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
// until it returns. The error comes from such a request, and ReasonOf sorts it, or from fn.
func (h *Handler) Evaluate(ctx context.Context, client string, q Question, fn func(result parser.Value, warnings []string) error) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	defer func() { h.counts.seconds.Observe(time.Since(began)) }()
	err := h.evaluate(ctx, client, q, fn)
	if err == nil {
		h.counts.answered.Add(1)
		return nil
	}
	h.counts.fail(err)
	return err
}

func (h *Handler) evaluate(ctx context.Context, client string, q Question, fn func(result parser.Value, warnings []string) error) error {
	var b bound.Budget
	if err := b.Expression(q.Expr); err != nil {
		return &failure{badData, err}
	}
	if q.Step >= time.Millisecond && points(q.Step, q.Start, q.End) > maxPoints {
		return bad("more than %d times: take a longer step, or a shorter range", maxPoints)
	}
	t, err := h.turn(ctx, client)
	if err != nil {
		return err
	}
	defer t.pause()
	opts := promql.NewPrometheusQueryOpts(false, q.Lookback)
	prepared, err := h.newQuery(ctx, h.asker, opts, q.Expr, q.Start, q.End, max(q.Step, 0))
	if err != nil {
		return &failure{badData, err}
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

// A Reason says why an expression has no result.
type Reason int

// The reasons.
const (
	Mistaken Reason = iota // the expression is wrong, or cannot be evaluated
	Late                   // it took too long
	Gone                   // the client has ended it
	Away                   // the storage, or a part of it, cannot be asked now
	Broken                 // the storage has failed
)

// ReasonOf returns the reason that an error of Evaluate gives.
func ReasonOf(err error) Reason {
	switch asFailure(err).kind {
	case timeout:
		return Late
	case canceled:
		return Gone
	case unavailable:
		return Away
	case internal:
		return Broken
	}
	return Mistaken
}
