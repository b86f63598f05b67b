package rpc

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// The senders that one answer of Status lists.
const (
	defaultSenders = 100
	maxSenders     = 4100
)

// Status returns the state of the server.
func (s *Server) Status(ctx context.Context, req *rondov1.StatusRequest) (*rondov1.StatusResponse, error) {
	if err := access.From(ctx).NeedAll(); err != nil {
		return nil, fail(err, "status")
	}
	n := int(req.GetSenders())
	switch {
	case s.Report == nil:
		return s.UnimplementedRondoHandler.Status(ctx, req)
	case n < 0:
		return nil, invalid("senders: %d is negative", n)
	}
	answer := s.Report(min(cmp.Or(n, defaultSenders), maxSenders))
	charge := chargeFor(ctx)
	for _, x := range answer.GetSenders() {
		if err := charge.texts(len(x.GetName()) + 2*len(x.GetFolder()) + len(x.GetReceiver())); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// The alerts that one answer of Alerts lists.
const (
	defaultAlerts = 1000
	maxAlerts     = 10_000
)

// Alerts returns what rules say. Users who are limited to folders are refused: rules are evaluated
// over all series.
func (s *Server) Alerts(ctx context.Context, m *rondov1.AlertsRequest) (*rondov1.AlertsResponse, error) {
	if err := access.From(ctx).NeedAll(); err != nil {
		return nil, fail(err, "alerts")
	}
	n, about := m.GetLimit(), len(m.GetPaths())+len(m.GetLines())
	switch {
	case s.ReportAlerts == nil:
		return s.UnimplementedRondoHandler.Alerts(ctx, m)
	case n < 0 || about > maxLatestPaths:
		return nil, invalid("limit: %d is negative, or %d paths and lines are more than %d", n, about, maxLatestPaths)
	}
	m.Limit = min(cmp.Or(n, defaultAlerts), maxAlerts)
	answer, err := s.ReportAlerts(ctx, m)
	if err != nil {
		return nil, coded(err)
	}
	charge := chargeFor(ctx)
	return answer, charge.texts(proto.Size(answer))
}
