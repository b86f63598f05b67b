package server

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/rra"
)

// httpFigures returns the figures of the HTTP port.
func (s *server) httpFigures() []figure {
	st := s.middleware.Stats()
	conns, closed := 0, uint64(0)
	if s.connections != nil {
		conns, closed = s.connections.Open(), s.connections.Closed()
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
func (s *server) writeHTTP(w *metrics.Writer) {
	w.Family("rondo_http_requests_refused_total", "counter", "Requests not let in, by reason.")
	refused := s.middleware.Stats().Refused
	for _, reason := range slices.Sorted(maps.Keys(refused)) {
		w.Sample(float64(refused[reason]), "reason", reason)
	}
	w.Family("rondo_http_request_seconds", "histogram", "From the head of a request until its answer was taken, by path.")
	seconds := s.middleware.Seconds()
	for _, path := range slices.Sorted(maps.Keys(seconds)) {
		writeHistogram(w, seconds[path], "path", path)
	}
	w.Family("rondo_rpc_calls_total", "counter", "Calls by method and code; unread is a request that was no message of the method.")
	calls := s.rpc.Calls.Counts()
	for _, c := range slices.SortedFunc(maps.Keys(calls), func(a, b rpc.Call) int {
		return cmp.Or(strings.Compare(a.Method, b.Method), strings.Compare(a.Code, b.Code))
	}) {
		w.Sample(float64(calls[c]), "method", c.Method, "code", c.Code)
	}
}

// writeGraphs writes the metrics of graphs that were asked for over HTTP.
func (s *server) writeGraphs(w *metrics.Writer) {
	st := s.pages.Stats()
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

func writeHistogram(w *metrics.Writer, s histogram.Snapshot, labels ...string) {
	w.Histogram(s.Buckets, s.Count(), s.Sum(), labels...)
}

// writeTimes writes histograms of how long the store's operations take.
func writeTimes(w *metrics.Writer, st core.Stats) {
	for _, h := range []struct {
		name, help string
		times      histogram.Snapshot
	}{
		{"rondo_append_seconds", "From the arrival of a batch of samples until it was durable and applied.", st.AppendSeconds},
		{"rondo_log_sync_seconds", "Syncs of the log.", st.SyncSeconds},
		{"rondo_fetch_seconds", "Reads of rows of one or more series.", st.FetchSeconds},
	} {
		w.Family(h.name, "histogram", h.help)
		writeHistogram(w, h.times)
	}
}
