package server

import (
	"net/http"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/web"
)

// newPages returns the server of the pages for people.
func (s *server) newPages() *web.Server {
	return web.New(web.Config{
		Store: s.store, RPC: s.rpc, Pages: s.rpc.Pages, Version: s.Version, DB: absolute(s.DB), Started: s.started, Ways: s.waysIn,
		Client: func(r *http.Request) string { return sockets.ClientOf(r.RemoteAddr) },
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
