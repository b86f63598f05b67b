package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"
)

// errCut is the warning of an answer that is shorter than it would be without its limit.
var errCut = errors.New("results truncated due to limit")

// query evaluates an expression at one time.
func (h *Handler) query(r *http.Request, _ string) (*result, error) {
	limit, err := limitParam(r)
	if err != nil {
		return nil, err
	}
	at, err := timeParam(r, "time", h.now())
	if err != nil {
		return nil, err
	}
	return h.evaluated(r, limit, at, at, 0)
}

// queryRange evaluates an expression at several times.
func (h *Handler) queryRange(r *http.Request, _ string) (*result, error) {
	limit, err := limitParam(r)
	if err != nil {
		return nil, err
	}
	start, err := parseTime(r.FormValue("start"))
	if err != nil {
		return nil, badParameter("start", err)
	}
	end, err := parseTime(r.FormValue("end"))
	if err != nil {
		return nil, badParameter("end", err)
	}
	if end.Before(start) {
		return nil, badParameter("end", errors.New("end timestamp must not be before start time"))
	}
	step, err := stepParam(r, start, end)
	if err != nil {
		return nil, err
	}
	return h.evaluated(r, limit, start, end, step)
}

// evaluated evaluates the expression of a request from start to end; step 0: at start only.
func (h *Handler) evaluated(r *http.Request, limit int, start, end time.Time, step time.Duration) (*result, error) {
	ctx, opts := r.Context(), promql.NewPrometheusQueryOpts(r.FormValue("stats") == "all", 0)
	if s := r.FormValue("timeout"); s != "" {
		d, err := parseDuration(s)
		if err != nil {
			return nil, badParameter("timeout", err)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	if s := r.FormValue("lookback_delta"); s != "" {
		d, err := parseDuration(s)
		if err != nil {
			return nil, bad("error parsing lookback delta duration: %w", err)
		}
		opts = promql.NewPrometheusQueryOpts(opts.EnablePerStepStats(), d)
	}
	text := r.FormValue("query")
	q, err := h.newQuery(ctx, h.asker, opts, text, start, end, step)
	if err != nil {
		return nil, badParameter("query", err)
	}
	return h.run(ctx, q, limit, text, r.FormValue("stats"))
}

// stepParam returns the step of a range query.
func stepParam(r *http.Request, start, end time.Time) (time.Duration, error) {
	step, err := parseDuration(r.FormValue("step"))
	switch {
	case err != nil:
		return 0, badParameter("step", err)
	case step <= 0:
		return 0, badParameter("step", errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	case step < time.Millisecond:
		return 0, badParameter("step", errors.New("steps of less than a millisecond are not accepted"))
	case points(step, start, end) > maxPoints:
		return 0, bad("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")
	}
	return step, nil
}

// points returns how many steps of at least a millisecond lie between two times. A Duration ends at
// 292 years, and the difference of two times may not fit an int64.
func points(step time.Duration, start, end time.Time) uint64 {
	return (uint64(end.UnixMilli()) - uint64(start.UnixMilli())) / uint64(step.Milliseconds())
}

// run evaluates a query.
func (h *Handler) run(ctx context.Context, q promql.Query, limit int, text, withStats string) (*result, error) {
	out := q.Exec(ctx)
	res := &result{warnings: out.Warnings, query: text, done: q.Close}
	if out.Err != nil {
		return res, out.Err
	}
	if limit > 0 && cut(out, limit) {
		res.warnings = res.warnings.Add(errCut)
	}
	res.bytes = sizeOf(out.Value)
	var figures []byte
	if withStats != "" {
		var err error
		if figures, err = json.Marshal(stats.NewQueryStats(q.Stats())); err != nil {
			return res, &failure{Internal, fmt.Errorf("statistics of the query: %w", err)}
		}
	}
	res.data = func(o *output) {
		o.text(`{"resultType":`)
		o.str(string(out.Value.Type()))
		o.text(`,"result":`)
		o.value(out.Value)
		if figures != nil {
			o.text(`,"stats":`)
			o.text(string(figures))
		}
		o.text("}")
	}
	return res, nil
}

// cut shortens a list of series to limit, and reports whether it was longer.
func cut(r *promql.Result, limit int) bool {
	switch v := r.Value.(type) {
	case promql.Matrix:
		r.Value = v[:min(len(v), limit)]
		return len(v) > limit
	case promql.Vector:
		r.Value = v[:min(len(v), limit)]
		return len(v) > limit
	}
	return false
}

// sizeOf returns how many bytes a value occupies in memory, about.
func sizeOf(v parser.Value) (n int64) {
	switch v := v.(type) {
	case promql.Matrix:
		for i := range v {
			n += labelBytes(v[i].Metric) + int64(len(v[i].Floats))*pointBytes
		}
	case promql.Vector:
		for i := range v {
			n += labelBytes(v[i].Metric) + pointBytes
		}
	}
	return n
}

func labelBytes(ls labels.Labels) int64 {
	n := int64(64)
	ls.Range(func(l labels.Label) { n += int64(len(l.Name) + len(l.Value) + 2) })
	return n
}
