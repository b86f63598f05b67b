// Package figures has the numbers about a server: /metrics shows them, and the server records some
// of them as series of its own.
package figures

import (
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/query/prom/alerts"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/web"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// Sources are the parts of a server that figures are read from, and counters of what is counted
// nowhere else. A Sources must not be copied.
type Sources struct {
	Version          string
	Started          time.Time
	Own              string // the folder of the server's own series
	Store            core.Engine
	Member           *clustered.Member // nil: the server is no node of a cluster
	Sink             *sink.Sink
	Receivers        func() []Receiver // those that run, in the order of the configuration
	RRDCached        *rrdcached.Server // nil: rrdcached's protocol is off
	Middleware       *middleware.Handler
	Connections      *middleware.Connections // nil: the HTTP port is off
	RPC              *rpc.Server
	Pages            *web.Server
	Queries          *api.Handler
	Rules            *alerts.Manager
	Backups          *backups.Keeper
	Logger           *slog.Logger
	Reloads          Reloads
	Expired, Dropped atomic.Uint64 // paths that were silent for too long, and series dropped for it
	Late             atomic.Int64  // own figures are late until then, in µs since 1970; 0: none
}

// A Receiver is one receiver that runs.
type Receiver struct {
	Name   string // of its protocol
	Prefix string // of its paths
	Stats  receivers.Stats
}

// Reloads counts the outcomes of reading the configuration again.
type Reloads struct {
	Taken, Failed atomic.Uint64 // how often a configuration was applied, or refused
	Bad           atomic.Bool   // the last one was refused, if only by one receiver
	Restart       atomic.Int64  // changed settings that wait for a restart
	At            atomic.Int64  // when one was last applied, in Unix microseconds; 0: at the start
}

// A figure is one number about the server itself. It is a metric, and a series below rondo/.
type figure struct {
	series string // the last part of the series' path; empty: not recorded
	metric string
	kind   rra.Kind // Gauge; Derive, a counter of integers; DDerive, one of doubles
	help   string
	value  float64
}

// writeFigures writes the figures that are metrics without labels.
func writeFigures(w *metrics.Writer, fs []figure) {
	for _, f := range fs {
		if f.help != "" { // else the series adds up metrics with labels
			w.Family(f.metric, kindOf(f.kind), f.help)
			w.Sample(f.value)
		}
	}
}

// kindOf returns the kind of a metric whose series has a kind.
func kindOf(k rra.Kind) string {
	if k == rra.Gauge {
		return "gauge"
	}
	return "counter"
}

// writeCounts writes a counter with one label, whose values are what value returns of the indices.
func writeCounts(w *metrics.Writer, metric, help, label string, counts []uint64, value func(i int) string) {
	w.Family(metric, "counter", help)
	for i, n := range counts {
		w.Sample(float64(n), label, value(i))
	}
}

// A list is the values of a label, by index.
type list []string

func (l list) at(i int) string { return l[i] }

// writeSeconds writes a histogram without labels.
func writeSeconds(w *metrics.Writer, metric, help string, s histogram.Snapshot) {
	w.Family(metric, "histogram", help)
	w.Histogram(s.Buckets, s.Count(), s.Sum())
}

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

func storeFigures(st core.Stats) []figure {
	return []figure{
		{"series", "rondo_series", rra.Gauge, "Series in the catalogue.", float64(st.Series)},
		{"", "rondo_series_limit", rra.Gauge, "Series that there may be (--max-series).", float64(st.SeriesLimit)},
		{"metadata", "rondo_metadata", rra.Gauge, "Paths with metadata.", float64(st.Metadata)},
		{"samples", "rondo_samples_accepted_total", rra.Derive, "Samples stored.", float64(st.SamplesAccepted)},
		{"samples_late", "rondo_samples_late_total", rra.Derive, "Samples refused because they were not after the last of their series.", float64(st.SamplesLate)},
		{"samples_refused", "rondo_samples_refused_total", rra.Derive, "Samples refused for another reason.", float64(st.SamplesRefused)},
		{"samples_held", "rondo_samples_held", rra.Gauge, "Samples in the reorder window.", float64(st.Held)},
		{"batches", "rondo_batches_total", rra.Derive, "Batches appended.", float64(st.Batches)},
		{"rows", "rondo_rows_stored_total", rra.Derive, "Consolidated rows written to the database.", float64(st.RowsStored)},
		{"checkpoints", "rondo_checkpoints_total", rra.Derive, "Checkpoints completed.", float64(st.Checkpoints)},
		{"checkpoint_failures", "rondo_checkpoint_failures_total", rra.Derive, "Checkpoints that failed; they are tried again.", float64(st.CheckpointFailures)},
		{"checkpoint_seconds", "rondo_checkpoint_seconds", rra.Gauge, "Duration of the last checkpoint.", st.CheckpointSeconds},
		{"", "rondo_checkpoint_seconds_max", rra.Gauge, "Duration of the longest checkpoint.", st.CheckpointSecondsMax},
		{"log_bytes", "rondo_log_bytes", rra.Gauge, "Length of the log.", float64(st.LogBytes)},
		{"log_written", "rondo_log_written_bytes_total", rra.Derive, "Bytes written to the log.", float64(st.LogWritten)},
		{"", "rondo_log_syncs_total", rra.Derive, "Syncs of the log.", float64(st.LogSyncs)},
		{"log_failures", "rondo_log_failures_total", rra.Derive, "Writes or syncs of the log that failed.", float64(st.LogFailures)},
		{"", "rondo_log_torn_bytes", rra.Gauge, "Bytes cut off the end of the log when it was opened.", float64(st.LogTorn)},
		{"database_bytes", "rondo_database_bytes", rra.Gauge, "Size of the database file.", float64(st.DatabaseBytes)},
		{"database_free", "rondo_database_free_bytes", rra.Gauge, "Free pages in the database file.", float64(st.DatabaseFree)},
		{"", "rondo_database_commit_failures_total", rra.Derive, "Commits to the database file that failed.", float64(st.DatabaseFailures)},
		{"", "rondo_database_reopened_total", rra.Derive, "Times that the database file was opened anew after a failed commit.", float64(st.DatabaseReopened)},
		{"", "rondo_database_damaged", rra.Gauge, "Places of damage met in the database since it was opened; see rondo check --repair.", float64(st.Damaged)},
		{"", "rondo_memory_budget_bytes", rra.Gauge, "What rondo_memory_bytes may reach (--memory).", float64(st.MemoryBudget)},
		{"memory_bytes", "rondo_memory_bytes", rra.Gauge, "States, rows not yet stored and queues.", float64(st.MemoryBytes)},
		{"", "rondo_groups_loaded", rra.Gauge, "Groups of series whose state is in memory.", float64(st.GroupsLoaded)},
		{"", "rondo_groups_dropped_total", rra.Derive, "Groups of series unloaded to keep within the memory budget.", float64(st.GroupsDropped)},
		{"", "rondo_replayed_records", rra.Gauge, "Records replayed when the store was opened.", float64(st.ReplayedRecords)},
		{"", "rondo_recovery_seconds", rra.Gauge, "Duration of the recovery when the store was opened.", st.RecoverySeconds},
	}
}

// writeTimes writes histograms of how long the store's operations take.
func writeTimes(w *metrics.Writer, st core.Stats) {
	writeSeconds(w, "rondo_append_seconds", "From the arrival of a batch of samples until it was durable and applied.", st.AppendSeconds)
	writeSeconds(w, "rondo_log_sync_seconds", "Syncs of the log.", st.SyncSeconds)
	writeSeconds(w, "rondo_fetch_seconds", "Reads of rows of one or more series.", st.FetchSeconds)
}

func (r *Reloads) figures(started time.Time) []figure {
	good, at := 1.0, r.At.Load()
	if r.Bad.Load() {
		good = 0
	}
	if at == 0 {
		at = started.UnixMicro()
	}
	return []figure{
		{"", "rondo_config_last_reload_successful", rra.Gauge, "1 if the configuration was taken when it was read last, else 0.", good},
		{"", "rondo_config_last_reload_success_timestamp_seconds", rra.Gauge, "When the configuration was taken last, seconds since 1970.", float64(at) / 1e6},
		{"", "rondo_config_restart_pending", rra.Gauge, "Settings that have changed in the configuration read last and need a restart.", float64(r.Restart.Load())},
		{"", "rondo_config_reloads_total", rra.Derive, "Times that the configuration was read again and taken.", float64(r.Taken.Load())},
		{"", "rondo_config_reload_failures_total", rra.Derive, "Times that it was read again and not taken, or not by all receivers.", float64(r.Failed.Load())},
	}
}

func ruleFigures(c alerts.Counts) []figure {
	return []figure{
		{"", "rondo_rules", rra.Gauge, "Alerting and recording rules (--rule-file).", float64(c.Rules)},
		{"", "rondo_rule_evaluations_total", rra.Derive, "Evaluations of rules.", float64(c.Evaluations)},
		{"", "rondo_rule_evaluation_failures_total", rra.Derive, "Evaluations of rules that failed.", float64(c.Failures)},
		{"", "rondo_rule_evaluations_missed_total", rra.Derive, "Evaluations of groups left out because the one before took too long.", float64(c.Missed)},
		{"", "rondo_rule_samples_late_total", rra.Derive, "Recorded samples refused because their series has later ones: the clock was set back.", float64(c.Late)},
		{"", "rondo_alerts_pending", rra.Gauge, "Alerts whose expression is true, not yet for long enough.", float64(c.Pending)},
		{"", "rondo_alerts_firing", rra.Gauge, "Alerts that fire.", float64(c.Firing)},
		{"", "rondo_alerts_sent_total", rra.Derive, "Alerts that a receiver took, each time one did.", float64(c.Sent)},
		{"", "rondo_alert_send_failures_total", rra.Derive, "Alerts that a receiver did not take.", float64(c.SendFailures)},
		{"", "rondo_alerts_shed_total", rra.Derive, "Alerts not sent because too many waited for a receiver.", float64(c.Shed)},
	}
}

func backupFigures(st backups.State) []figure {
	last := 0.0
	if !st.Last.IsZero() {
		last = float64(st.Last.UnixMilli()) / 1000
	}
	return []figure{
		{"", "rondo_backups_total", rra.Derive, "Backups made and checked (--backup-to).", float64(st.Made)},
		{"", "rondo_backup_failures_total", rra.Derive, "Backups that failed; they are tried again.", float64(st.Failed)},
		{"", "rondo_backup_last_success_timestamp_seconds", rra.Gauge, "When the newest backup was begun, seconds since 1970; 0: none is known.", last},
		{"", "rondo_backup_last_seconds", rra.Gauge, "Duration of the newest backup, with checking it.", st.Took.Seconds()},
		{"", "rondo_backup_last_bytes", rra.Gauge, "Size of the newest backup.", float64(st.Bytes)},
	}
}
