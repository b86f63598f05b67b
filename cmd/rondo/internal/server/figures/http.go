package figures

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/rra"
)

// httpFigures returns the figures of the HTTP port.
func (s *Sources) httpFigures() []figure {
	st := s.Middleware.Stats()
	conns, closed := 0, uint64(0)
	if s.Connections != nil {
		conns, closed = s.Connections.Open(), s.Connections.Closed()
	}
	return []figure{
		{"requests_shed", "rondo_http_requests_shed_total", rra.Derive, "Requests refused because too many were under way, or held too much memory.", float64(st.Shed)},
		{"", "rondo_http_requests_pending", rra.Gauge, "Requests that have begun, those that wait included.", float64(st.Pending)},
		{"", "rondo_http_requests_working", rra.Gauge, "Requests that have a place.", float64(st.Working)},
		{"", "rondo_http_held_bytes", rra.Gauge, "Bytes that requests and their answers hold, as they are charged.", float64(st.Held)},
		{"", "rondo_http_held_limit_bytes", rra.Gauge, "Bytes that requests and their answers may hold.", float64(st.HeldLimit)},
		{"", "rondo_http_connections", rra.Gauge, "Connections that are open.", float64(conns)},
		{"", "rondo_http_connections_limit", rra.Gauge, "Connections that may be open.", float64(st.ConnLimit)},
		{"", "rondo_http_connections_closed_total", rra.Derive, "Connections closed because there were too many.", float64(closed)},
	}
}

// writeHTTP writes the metrics of requests that the HTTP port has refused.
func (s *Sources) writeHTTP(w *metrics.Writer) {
	w.Family("rondo_http_requests_refused_total", "counter", "Requests not let in, by reason.")
	refused := s.Middleware.Stats().Refused
	for _, reason := range slices.Sorted(maps.Keys(refused)) {
		w.Sample(float64(refused[reason]), "reason", reason)
	}
	w.Family("rondo_http_request_seconds", "histogram", "From the head of a request until its answer was taken, by path.")
	seconds := s.Middleware.Seconds()
	for _, path := range slices.Sorted(maps.Keys(seconds)) {
		writeHistogram(w, seconds[path], "path", path)
	}
	w.Family("rondo_rpc_calls_total", "counter", "Calls by method and code; unread is a request that was no message of the method.")
	calls := s.RPC.Calls.Counts()
	for _, c := range slices.SortedFunc(maps.Keys(calls), func(a, b rpc.Call) int {
		return cmp.Or(strings.Compare(a.Method, b.Method), strings.Compare(a.Code, b.Code))
	}) {
		w.Sample(float64(calls[c]), "method", c.Method, "code", c.Code)
	}
}

// writeGraphs writes the metrics of graphs that were asked for over HTTP.
func (s *Sources) writeGraphs(w *metrics.Writer) {
	st := s.Pages.Stats()
	w.Family("rondo_graphs_total", "counter", "Graphs asked for over HTTP, by outcome.")
	for _, o := range []struct {
		name string
		n    uint64
	}{{"drawn", st.Drawn}, {"kept", st.Kept}, {"unchanged", st.Unchanged}, {"busy", st.Busy}, {"failed", st.Failed}} {
		w.Sample(float64(o.n), "outcome", o.name)
	}
	w.Gauge("rondo_graphs_waiting", "Graphs that wait for a place, or are being drawn.", float64(st.Waiting))
	w.Family("rondo_graph_seconds", "histogram", "Fetching and drawing of a graph.")
	writeHistogram(w, st.Seconds)
}

// writeQueries writes the metrics of requests of Prometheus' API.
func (s *Sources) writeQueries(w *metrics.Writer) {
	st := s.Queries.Stats()
	w.Family("rondo_promql_requests_total", "counter", "Requests of Prometheus' API, by outcome.")
	for _, o := range []struct {
		name string
		n    uint64
	}{{"answered", st.Answered}, {"busy", st.Busy}, {"failed", st.Failed - st.Busy}} {
		w.Sample(float64(o.n), "outcome", o.name)
	}
	w.Gauge("rondo_promql_requests_waiting", "Requests of Prometheus' API that wait for a place or have one.", float64(st.Waiting))
	w.Family("rondo_promql_request_seconds", "histogram", "Requests of Prometheus' API until they were answered, with their time in the queue.")
	writeHistogram(w, st.Seconds)
}

func writeHistogram(w *metrics.Writer, s histogram.Snapshot, labels ...string) {
	w.Histogram(s.Buckets, s.Count(), s.Sum(), labels...)
}
