package peer

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/partial"
	"github.com/rondo-db/rondo/query/rpc/types"
)

// Evaluate answers the method of its name.
func (s *Server) Evaluate(ctx context.Context, req *connect.Request[peerv1.EvaluateRequest], stream *connect.ServerStream[peerv1.EvaluateResponse]) error {
	if s.Expressions == nil {
		return connect.NewError(connect.CodeUnimplemented, errors.New("this node evaluates no expressions"))
	}
	m := req.Msg
	q := partial.Question{
		Expressions: m.GetExpressions(), Start: m.GetStart(), End: m.GetEnd(), Step: m.GetStep(),
		Lookback: m.GetLookback(), Rules: m.GetRules(), ForRule: m.GetForRule(),
	}
	a := new(partial.Answer)
	st := s.do(ctx, m.GetTarget(), func(e core.Engine) error {
		got, err := s.Expressions(ctx, int(m.GetTarget().GetPartition()), e, q)
		if err == nil {
			a = got
		}
		return err
	})
	var out peerv1.EvaluateResponse
	bytes := 0
	for _, x := range a.Series {
		out.Series = append(out.Series, &peerv1.Evaluated{Expression: uint32(x.Expression), Labels: types.SentLabels(x.Labels), Steps: x.Known, Values: x.Values})
		if bytes += 64*len(x.Labels) + len(x.Known) + 8*len(x.Values); bytes < chunkBytes {
			continue
		}
		if err := stream.Send(&out); err != nil {
			return err
		}
		out, bytes = peerv1.EvaluateResponse{}, 0
	}
	out.Warnings, out.Infos, out.Standing = a.Warnings, a.Infos, st
	return stream.Send(&out)
}

// Evaluate evaluates expressions over the series of the partition, on the node that has it. most
// bounds the values of the answer: with more, the error wraps core.ErrTooLarge.
func (c *Client) Evaluate(ctx context.Context, q partial.Question, most int) (*partial.Answer, error) {
	own, cancel := context.WithCancel(ctx)
	in, err := c.node.rpc.Evaluate(own, connect.NewRequest(&peerv1.EvaluateRequest{
		Target: c.target(ctx), Expressions: q.Expressions, Start: q.Start, End: q.End, Step: q.Step, Lookback: q.Lookback, Rules: q.Rules, ForRule: q.ForRule,
	}))
	a := new(partial.Answer)
	err = drain(ctx, c, cancel, in, err, func(m *peerv1.EvaluateResponse) (bool, error) {
		for _, x := range m.GetSeries() {
			s := partial.Series{Expression: int(x.GetExpression()), Labels: types.ReadLabels(x.GetLabels()), Known: x.GetSteps(), Values: x.GetValues()}
			if !s.Valid(&q) {
				return false, malformed("a series whose values do not fit to the steps")
			}
			if most -= len(s.Values); most < 0 {
				return false, core.ErrTooLarge
			}
			a.Series = append(a.Series, s)
		}
		a.Warnings, a.Infos = append(a.Warnings, m.GetWarnings()...), append(a.Infos, m.GetInfos()...)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}
