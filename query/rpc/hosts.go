package rpc

import (
	"context"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/hosts"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/search"
)

// Hosts returns machines and how they do.
func (s *Server) Hosts(ctx context.Context, m *rondov1.HostsRequest) (*rondov1.HostsResponse, error) {
	limit, err := pageSize(m.GetLimit(), defaultNodes, search.MaxNodes)
	switch {
	case err != nil:
		return nil, err
	case m.GetOffset() < 0:
		return nil, invalid("offset %d is negative", m.GetOffset())
	case len(m.GetFilter()) > maxHostText || len(m.GetPin()) > maxHostText:
		return nil, invalid("filter and pin have %d bytes at most", maxHostText)
	}
	s.names()
	page, err := s.board.Page(ctx, hosts.Request{
		Filter: m.GetFilter(), Sort: m.GetSort(), Pin: m.GetPin(), Offset: int(m.GetOffset()), Limit: limit,
		Sparks: m.GetSparks(), Within: access.From(ctx).Folders, Firing: s.firing(ctx), Now: s.now(),
	})
	if err != nil {
		return nil, coded(err)
	}
	charge := chargeFor(ctx)
	answer := &rondov1.HostsResponse{Total: int64(page.Total), Domain: page.Domain, Named: page.Named}
	for i := range page.Rows {
		x := hostOf(&page.Rows[i])
		if err := charge.texts(proto.Size(x)); err != nil {
			return nil, err
		}
		answer.Hosts = append(answer.Hosts, x)
	}
	return answer, nil
}

// maxHostText bounds the words of a request for hosts, in bytes.
const maxHostText = 1024

func hostOf(r *hosts.Row) *rondov1.Host {
	x := &rondov1.Host{
		Node:    nodeOf(&search.Node{Path: r.Name, Name: r.Name, Series: r.Series, Last: r.Last, IsFolder: true, Spark: r.Spark}),
		Senders: r.Senders, Silent: r.Silent, Alerts: r.Alerts,
	}
	for i, to := range []**float64{&x.Cpu, &x.Load, &x.Memory, &x.Disk, &x.In, &x.Out, &x.Pin} {
		if v := r.Figures[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			*to = new(v)
		}
	}
	return x
}

// naming lists the labels of an alert that name a host.
var naming = []string{"host", "hostname", "host_name", "node", "nodename", "instance"}

// firing returns the names of the alerts that fire, by the hosts that their labels name. Users who
// are limited to folders see none, as by Alerts.
func (s *Server) firing(ctx context.Context) map[string][]string {
	if s.ReportAlerts == nil || access.From(ctx).Limited() {
		return nil
	}
	out := make(map[string][]string)
	answer, _ := s.ReportAlerts(ctx, &rondov1.AlertsRequest{Limit: maxAlerts}) // never fails
	for _, a := range answer.GetAlerts() {
		for _, l := range a.GetLabels() {
			host := search.Machine(l.GetValue())
			if a.GetState() == "firing" && slices.Contains(naming, l.GetName()) && !slices.Contains(out[host], a.GetName()) {
				out[host] = append(out[host], a.GetName())
			}
		}
	}
	return out
}
