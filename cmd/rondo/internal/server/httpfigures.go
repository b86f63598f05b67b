package server

import (
	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/rra"
)

// httpFigures returns what the HTTP port knows of itself.
func (s *server) httpFigures() []figure {
	g := s.page
	conns, closed := 0, uint64(0)
	if s.connections != nil {
		conns, closed = s.connections.open(), s.connections.closed.Load()
	}
	return []figure{
		{"requests_shed", "rondo_http_requests_shed_total", rra.Derive, "Requests refused because too many were under way.", float64(g.shed())},
		{"", "rondo_http_requests_pending", rra.Gauge, "Requests that have begun, those that wait included.", float64(g.pending.inside())},
		{"", "rondo_http_requests_working", rra.Gauge, "Requests that have a place.", float64(g.work.inside())},
		{"", "rondo_http_body_bytes", rra.Gauge, "Bytes of requests that arrive, as they are charged.", float64(g.bodies.Used())},
		{"", "rondo_http_answer_bytes", rra.Gauge, "Bytes of answers that are put together or wait to be read, as they are charged.", float64(g.answers.Used())},
		{"", "rondo_http_connections", rra.Gauge, "Connections that are open.", float64(conns)},
		{"", "rondo_http_connections_closed_total", rra.Derive, "Connections closed because there were too many.", float64(closed)},
	}
}

// writeHTTP writes what the HTTP port has refused.
func (s *server) writeHTTP(w *metrics.Writer) {
	w.Family("rondo_http_requests_refused_total", "counter", "Requests not let in, by reason.")
	for i := range s.page.refused {
		w.Sample(float64(s.page.refused[i].Load()), "reason", refusal(i).String())
	}
}
