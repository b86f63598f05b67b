package figures

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
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
	refused := s.Middleware.Stats().Refused
	writeCounts(w, "rondo_http_requests_refused_total", "Requests not let in, by reason.",
		"reason", refused[:], func(i int) string { return middleware.Rejection(i).String() })
	w.Family("rondo_http_request_seconds", "histogram", "From the head of a request until its answer was taken, by path.")
	seconds := s.Middleware.Seconds()
	for _, path := range slices.Sorted(maps.Keys(seconds)) {
		s := seconds[path]
		w.Histogram(s.Buckets, s.Count(), s.Sum(), "path", path)
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
	writeCounts(w, "rondo_graphs_total", "Graphs asked for over HTTP, by outcome.", "outcome",
		[]uint64{st.Drawn, st.Kept, st.Unchanged, st.Busy, st.Failed}, list{"drawn", "kept", "unchanged", "busy", "failed"}.at)
	w.Gauge("rondo_graphs_waiting", "Graphs that wait for a place, or are being drawn.", float64(st.Waiting))
	writeSeconds(w, "rondo_graph_seconds", "Fetching and drawing of a graph.", st.Seconds)
}

// writeQueries writes the metrics of requests of Prometheus' API.
func (s *Sources) writeQueries(w *metrics.Writer) {
	st := s.Queries.Stats()
	writeCounts(w, "rondo_promql_requests_total", "Requests of Prometheus' API, by outcome.", "outcome",
		[]uint64{st.Answered, st.Busy, st.Failed - st.Busy}, list{"answered", "busy", "failed"}.at)
	w.Gauge("rondo_promql_requests_waiting", "Requests of Prometheus' API that wait for a place or have one.", float64(st.Waiting))
	writeSeconds(w, "rondo_promql_request_seconds", "Requests of Prometheus' API until they were answered, with their time in the queue.", st.Seconds)
}
