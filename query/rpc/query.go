package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/attime"
)

// Query evaluates an expression of PromQL.
func (s *Server) Query(ctx context.Context, req *rondov1.QueryRequest) (*rondov1.QueryResponse, error) {
	if s.Evaluate == nil {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("this server has no PromQL"))
	}
	q, err := s.question(req)
	if err != nil {
		return nil, err
	}
	q.Client = callerOf(ctx)
	answer, err := s.Evaluate(ctx, q)
	if c, ok := errors.AsType[*connect.Error](err); ok {
		return nil, connect.NewError(c.Code(), bounded(fmt.Errorf("query: %w", c.Unwrap())))
	}
	if err != nil {
		return nil, fail(err, "query")
	}
	charge := chargeFor(ctx)
	for _, x := range answer.GetSeries() {
		for _, l := range x.GetLabels() {
			if err := charge.texts(len(l.GetName()) + len(l.GetValue())); err != nil {
				return nil, err
			}
		}
		if err := charge.doubles(2 * int64(len(x.GetValues()))); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func (s *Server) question(m *rondov1.QueryRequest) (q Question, err error) {
	q = Question{Expr: m.GetQuery(), Limit: int(m.GetLimit())}
	switch {
	case m.GetQuery() == "":
		return q, invalid("no query")
	case m.GetLimit() < 0:
		return q, invalid("limit %d is negative", m.GetLimit())
	case m.GetStep() != 0 && m.GetTime() != "":
		return q, invalid("time is for a query without step")
	case m.GetStep() == 0 && m.GetStart()+m.GetEnd() != "":
		return q, invalid("start and end are for a query with step")
	}
	if q.Step, err = seconds("step", m.GetStep()); err != nil {
		return q, err
	}
	if q.Lookback, err = seconds("lookback", m.GetLookback()); err != nil {
		return q, err
	}
	if q.Step == 0 {
		q.End, err = s.instant("time", cmp.Or(m.GetTime(), "now"))
		return q, err
	}
	if q.Start, err = s.instant("start", cmp.Or(m.GetStart(), "now-1day")); err != nil {
		return q, err
	}
	if q.End, err = s.instant("end", cmp.Or(m.GetEnd(), "now")); err != nil {
		return q, err
	}
	if q.End.Before(q.Start) {
		return q, invalid("start (%d) is not before end (%d)", q.Start.Unix(), q.End.Unix())
	}
	return q, nil
}

// seconds returns a number of seconds in a request as a duration.
func seconds(name string, v float64) (time.Duration, error) {
	switch {
	case v == 0:
		return 0, nil
	case !(v >= 0.001 && v <= math.MaxInt64/float64(time.Second)):
		return 0, invalid("%s %v is not in 0.001..%v", name, v, int64(math.MaxInt64/time.Second))
	}
	return time.Duration(math.Round(v*1e3)) * time.Millisecond, nil
}

// instant returns a time of a request. Seconds since 1970 may have a fraction.
func (s *Server) instant(name, text string) (time.Time, error) {
	const most = 1 << 40 // seconds
	if v, err := strconv.ParseFloat(text, 64); err == nil && v > 1e9 && v < most {
		return time.UnixMilli(int64(math.Round(v * 1e3))), nil
	}
	sec, err := attime.InstantISO(text, s.now())
	if err != nil {
		return time.Time{}, invalid("%s: %w", name, err)
	}
	return time.Unix(sec, 0), nil
}
