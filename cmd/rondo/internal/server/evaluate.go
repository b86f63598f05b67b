package server

import (
	"cmp"
	"context"
	"errors"

	"connectrpc.com/connect"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// evaluate evaluates an expression for the procedure Query, in the places and with the limits of
// Prometheus' API.
func (s *server) evaluate(ctx context.Context, q rpc.Question) (*rondov1.QueryResponse, error) {
	var answer *rondov1.QueryResponse
	question := api.Question{Expr: q.Expr, Start: q.Start, End: q.End, Step: q.Step, Lookback: q.Lookback, Limit: q.Limit}
	err := s.queries.Evaluate(ctx, sockets.ClientOf(q.Client), question, func(result parser.Value, warnings []string) error {
		answer = answerOf(result)
		answer.Warnings = warnings
		return nil
	})
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, limit.ErrMemory):
		return nil, err
	}
	return nil, connect.NewError(cmp.Or(evaluateCodes[api.KindOf(err)], connect.CodeInvalidArgument), err)
}

// evaluateCodes are the codes of the errors that are not mistakes in an expression.
var evaluateCodes = map[api.Kind]connect.Code{
	api.Timeout: connect.CodeDeadlineExceeded, api.Canceled: connect.CodeCanceled,
	api.Unavailable: connect.CodeUnavailable, api.Internal: connect.CodeInternal,
}

// answerOf returns the message of a result.
func answerOf(result parser.Value) *rondov1.QueryResponse {
	m := &rondov1.QueryResponse{Type: string(result.Type())}
	switch v := result.(type) {
	case promql.String:
		m.Text = v.V
	case promql.Scalar:
		m.Series = []*rondov1.QuerySeries{{TimesUs: []int64{v.T * 1000}, Values: []float64{v.V}}}
	case promql.Vector:
		for i := range v {
			x := &rondov1.QuerySeries{Labels: labelsOfMetric(v[i].Metric), TimesUs: []int64{v[i].T * 1000}, Values: []float64{v[i].F}}
			m.Series = append(m.Series, x)
		}
	case promql.Matrix:
		for i := range v {
			x := &rondov1.QuerySeries{Labels: labelsOfMetric(v[i].Metric)}
			for _, p := range v[i].Floats {
				x.TimesUs, x.Values = append(x.TimesUs, p.T*1000), append(x.Values, p.F)
			}
			m.Series = append(m.Series, x)
		}
	}
	return m
}

func labelsOfMetric(ls labels.Labels) (out []*typesv1.Label) {
	ls.Range(func(l labels.Label) { out = append(out, &typesv1.Label{Name: l.Name, Value: l.Value}) })
	return out
}
