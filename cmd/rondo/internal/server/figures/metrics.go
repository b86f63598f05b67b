package figures

import (
	"net/http"
	"runtime"
	"slices"

	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/rra"
)

// ServeHTTP answers with all figures in the format of Prometheus.
func (s *Sources) ServeHTTP(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", metrics.ContentType)
	w := metrics.NewWriter(rw)
	w.Family("rondo_build_info", "gauge", "Always 1; the labels say what was built.")
	w.Sample(1, "version", s.Version, "goversion", runtime.Version())
	writeFigures(w, s.figures())
	rs := s.Receivers()
	writeSink(w, s.Sink.Stats())
	writeReceivers(w, rs)
	writeSenders(w, rs, s.Sink.Senders())
	s.writeRRDCached(w)
	writeTimes(w, s.Store.Stats())
	s.writeSpool(w)
	s.writeHTTP(w)
	s.writeGraphs(w)
	s.writeQueries(w)
	s.writeCluster(w)
	_ = w.Flush() // the client may be gone
}

// figures returns the current figures of the store and the process. Their order and names never
// change.
func (s *Sources) figures() []figure {
	return slices.Concat(storeFigures(s.Store.Stats()), processFigures(s.Started), []figure{
		{"expired", "rondo_expired_total", rra.Derive, "Paths whose metadata was forgotten after silence.", float64(s.Expired.Load())},
		{"series_expired", "rondo_series_expired_total", rra.Derive, "Series dropped after silence.", float64(s.Dropped.Load())},
	}, ruleFigures(s.Rules.Counts()), backupFigures(s.Backups.State()), s.Reloads.figures(s.Started), s.clusterFigures(), s.httpFigures())
}
