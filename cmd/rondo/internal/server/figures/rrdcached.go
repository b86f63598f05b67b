package figures

import (
	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/rra"
)

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
