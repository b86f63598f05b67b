// Package figures has the numbers about a server: /metrics shows them, and the server records some
// of them as series of its own.
package figures

import (
	"log/slog"
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
