package figures

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// writeSink writes the metrics of the sink, which all receivers share.
func writeSink(w *metrics.Writer, st sink.Stats) {
	w.Counter("rondo_series_made_total", "Series made because a receiver saw a new one.", float64(st.Made))
	writeCounts(w, "rondo_series_refused_total", "Series, and paths of metadata, not made, by reason; one that is tried again counts again.",
		"reason", st.Refused[:], func(i int) string { return sink.Refusal(i).String() })
	w.Gauge("rondo_senders", "Senders whose allowance of new series is kept apart.", float64(st.Senders))
}

// receiverFamilies are the metrics of a receiver that are one number, and series of the server. One
// without a help is a sum of metrics with more labels.
var receiverFamilies = []struct {
	series, metric string // as in figure
	kind           rra.Kind
	help           string
	value          func(receivers.Stats) float64
}{
	{"packets", "rondo_receiver_packets_total", rra.Derive, "Datagrams, messages or files read.", func(s receivers.Stats) float64 { return float64(s.Packets) }},
	{"", "rondo_receiver_bytes_total", rra.Derive, "Bytes in them.", func(s receivers.Stats) float64 { return float64(s.Bytes) }},
	{"samples", "rondo_receiver_samples_total", rra.Derive, "Samples handed to the store.", func(s receivers.Stats) float64 { return float64(s.Samples) }},
	{"", "rondo_receiver_values_total", rra.Derive, "Values in these samples.", func(s receivers.Stats) float64 { return float64(s.Values) }},
	{"", "rondo_receiver_notes_total", rra.Derive, "Events that are not numbers.", func(s receivers.Stats) float64 { return float64(s.Notes) }},
	{"dropped", "rondo_receiver_dropped_total", rra.Derive, "", func(s receivers.Stats) float64 { return sum(s.Dropped[:]) }},
	{"kernel_dropped", "rondo_receiver_kernel_dropped_total", rra.Derive, "Datagrams lost because the socket's buffer was full.", func(s receivers.Stats) float64 { return float64(s.KernelDropped) }},
	{"", "rondo_receiver_connections", rra.Gauge, "Peers connected.", func(s receivers.Stats) float64 { return float64(s.Connections) }},
	{"series", "rondo_receiver_series", rra.Gauge, "Series the receiver holds references of.", func(s receivers.Stats) float64 { return float64(s.Series) }},
}

func receiverFigures(rs []Receiver) []figure {
	var fs []figure
	for _, r := range rs {
		for _, f := range receiverFamilies {
			if f.series != "" {
				fs = append(fs, figure{r.Name + "/" + f.series, f.metric, f.kind, "", f.value(r.Stats)})
			}
		}
	}
	return fs
}

func writeReceivers(w *metrics.Writer, rs []Receiver) {
	if len(rs) == 0 {
		return
	}
	for _, f := range receiverFamilies {
		if f.help == "" {
			continue
		}
		w.Family(f.metric, kindOf(f.kind), f.help)
		for _, r := range rs {
			w.Sample(f.value(r.Stats), "receiver", r.Name)
		}
	}
	w.Family("rondo_receiver_dropped_total", "counter", "Samples, or rests of packets, not stored, by reason.")
	for _, r := range rs {
		for reason := range receivers.NumReasons {
			w.Sample(float64(r.Stats.Dropped[reason]), "receiver", r.Name, "reason", reason.String())
		}
	}
}

// writeSenders writes how many senders each receiver has heard, and when it heard one last. Each
// sender has no metric of its own: there may be very many.
func writeSenders(w *metrics.Writer, rs []Receiver, senders []sink.Sender) {
	count, last := make(map[string]int), make(map[string]time.Time)
	for _, s := range senders {
		count[s.Prefix]++
		if s.Last.After(last[s.Prefix]) {
			last[s.Prefix] = s.Last
		}
	}
	w.Family("rondo_receiver_senders", "gauge", "Senders heard since the start.")
	for _, r := range rs {
		w.Sample(float64(count[r.Prefix]), "receiver", r.Name)
	}
	w.Family("rondo_receiver_last_seen_timestamp_seconds", "gauge", "When a sender was heard last, seconds since 1970; 0: never.")
	for _, r := range rs {
		seen := 0.0
		if t := last[r.Prefix]; !t.IsZero() {
			seen = float64(t.UnixMilli()) / 1000
		}
		w.Sample(seen, "receiver", r.Name)
	}
}

// rrdcachedFigures returns the figures of rrdcached's protocol.
func (s *Sources) rrdcachedFigures() []figure {
	if s.RRDCached == nil {
		return nil
	}
	st := s.RRDCached.Stats()
	return []figure{
		{"rrdcached/connections", "rondo_rrdcached_connections", rra.Gauge, "Connections that are open.", float64(st.Connections)},
		{"rrdcached/accepted", "rondo_rrdcached_connections_total", rra.Derive, "Connections taken.", float64(st.Accepted)},
		{"rrdcached/refused", "rondo_rrdcached_connections_refused_total", rra.Derive, "Connections refused because there were too many.", float64(st.Refused)},
		{"rrdcached/stalled", "rondo_rrdcached_connections_stalled_total", rra.Derive, "Connections closed because the peer did not read its answers.", float64(st.Stalled)},
		{"rrdcached/foreign", "rondo_rrdcached_connections_foreign_total", rra.Derive, "Connections closed because they spoke HTTP or TLS.", float64(st.Foreign)},
		{"rrdcached/bytes", "rondo_rrdcached_bytes_total", rra.Derive, "Bytes of requests.", float64(st.Bytes)},
		{"rrdcached/samples", "rondo_rrdcached_samples_total", rra.Derive, "Samples handed to the store.", float64(st.Samples)},
		{"rrdcached/unknown", "rondo_rrdcached_unknown_total", rra.Derive, "Requests that are no command.", float64(st.Unknown)},
		{"rrdcached/answers", "rondo_rrdcached_answer_bytes", rra.Gauge, "Bytes of rows in memory for answers that wait to be read.", float64(st.Answers)},
		{"rrdcached/names", "rondo_rrdcached_names", rra.Gauge, "Names whose series is remembered.", float64(st.Names)},
		{"rrdcached/requests", "rondo_rrdcached_requests_total", rra.Derive, "", sum(st.Requests)},
		{"rrdcached/errors", "rondo_rrdcached_errors_total", rra.Derive, "", sum(st.Errors)},
	}
}

func sum(counts []uint64) float64 {
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	return float64(total)
}

// writeRRDCached writes the metrics of rrdcached's protocol.
func (s *Sources) writeRRDCached(w *metrics.Writer) {
	if s.RRDCached == nil {
		return
	}
	st := s.RRDCached.Stats()
	writeFigures(w, s.rrdcachedFigures())
	commands := list(rrdcached.CommandNames())
	writeCounts(w, "rondo_rrdcached_requests_total", "Requests, by command.", "command", st.Requests, commands.at)
	writeCounts(w, "rondo_rrdcached_errors_total", "Requests answered with an error, by command.", "command", st.Errors, commands.at)
}

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
