package server

import (
	"github.com/rondo-db/rondo/cluster/spread"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/figures"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/web"
)

// newPages returns the server of the pages for people.
func (s *server) newPages() *web.Server {
	return web.New(web.Config{
		Store: s.store, RPC: s.rpc, Pages: s.rpc.Pages, Version: s.Version, DB: absolute(s.DB), Started: s.started, Ways: s.waysIn,
	})
}

// waysIn returns the addresses at which samples come in.
func (s *server) waysIn() []web.Way {
	var ways []web.Way
	for _, r := range s.receivers.all() {
		ways = append(ways, web.Way{Name: r.settings.Protocol.Name, Addr: addressOf(r.receiver)})
	}
	if s.daemon != nil {
		for _, a := range s.daemon.addrs {
			ways = append(ways, web.Way{Name: "rrdcached", Addr: a.String()})
		}
	}
	return ways
}

// newQueries returns the handler of Prometheus' API.
func (s *server) newQueries() *api.Handler {
	series := prom.New(s.store, s.Ways.Metrics)
	s.series = series
	c := api.Config{
		Storage: series, Metadata: series.Metadata, Memory: s.Memory,
		Damages: func() int64 { return s.store.Stats().Damaged },
		Rules:   s.rulesJSON, Alerts: s.alertsJSON,
		Version: s.Version, Started: s.started,
	}
	if partitions, ok := s.store.(spread.Partitions); ok {
		c.Spread = func(how api.Spreading) api.Asker {
			return &spread.Asker{
				Engine: how.Engine, Storage: series, Partitions: partitions, Local: s.sums, Lookback: how.Lookback, Most: how.Most, ForRules: how.ForRules,
			}
		}
	}
	return api.New(c)
}

// newFigures returns the handler of /metrics, which also records the server's own series.
func (s *server) newFigures() *figures.Sources {
	f := &figures.Sources{
		Version: s.Version, Started: s.started, Own: s.own(), Store: s.store, Member: s.member,
		Sink: s.receivers.sink, Receivers: s.receivers.figures, Middleware: s.middleware, Connections: s.connections,
		RPC: s.rpc, Pages: s.pages, Queries: s.queries, Rules: s.rules, Backups: s.backups, Logger: s.Logger,
	}
	if s.daemon != nil {
		f.RRDCached = s.daemon.Server
	}
	return f
}
