package server

import (
	"log/slog"
	"net"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/query/prom/alerts"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/unixsocket"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// A Config is the configuration of a server.
type Config struct {
	DB      string // the database's folder
	Version string
	Engine  core.Options
	HTTP    []Address         // of the HTTP port; all have the same routes
	Socket  unixsocket.Access // who may connect to the command line's socket
	// HTTPHosts are names by which clients may reach the HTTP port, besides its own; "*" means
	// every name.
	HTTPHosts []string
	// HTTPBounds are the limits of the HTTP port; nil means the defaults.
	HTTPBounds *middleware.Bounds
	// WebConfig is the file that says how the HTTP port speaks TLS, and who may do what; empty: no
	// TLS, and everybody may do everything.
	WebConfig string
	// Ways are the receivers and the policy for new series.
	Ways Ways
	// RRDCached configures the server of rrdcached's protocol.
	RRDCached RRDCached
	// Gather is how long samples whose senders get no answer may wait to be stored together; 0: not
	// at all.
	Gather time.Duration
	// MaxFuture is how far ahead of the clock a sample may be; 0 means one hour, a negative time
	// means no limit.
	MaxFuture time.Duration
	// Limits are the limits of senders. Its field Policy is replaced by Ways.Policy.
	Limits sink.Options
	// Memory bounds the Go heap of the process, in bytes; 0 means the limit of GOMEMLIMIT.
	Memory int64
	// Grace is how long open requests may take when the server ends; 0 means 5 s.
	Grace time.Duration
	// Rules are alerting and recording rules; without files there are none. Its fields Query,
	// Record, StateFile and Logger are replaced.
	Rules alerts.Config
	// Backups are backups at regular times; an empty Dir means never.
	Backups backups.Options
	// Cluster says which cluster the server is a node of; nil: none. Its fields Dir, Store,
	// MaxSeries, Version and Logger are replaced.
	Cluster *clustered.Options
	// Reload delivers the Ways after each change of the configuration; nil means that they never
	// change.
	Reload <-chan Ways
	Logger *slog.Logger // nil means no log
	// Ready, if not nil, is called once everything listens.
	Ready func(Addresses)
}

// Ways are the part of the configuration that may change while the server runs: how samples come
// in, and which series they make.
type Ways struct {
	// Receivers are the protocols with their settings. A protocol without an address is off.
	Receivers []Receiver
	// Policy decides about new series; if it is nil, the protocols decide.
	Policy *sink.Policy
	// Metrics name series that no protocol names, for queries.
	Metrics []prom.Rule
	// Err says why a configuration that was read again is refused; nil means that it is valid.
	Err error
	// Restart is the number of changed settings that take effect only after a restart.
	Restart int
	// Changed are the changed settings that take effect at once, by the name of their protocol;
	// settings of no protocol have the name "".
	Changed map[string][]Setting
}

// A Setting is a flag and its value.
type Setting struct{ Name, Value string }

// An Address is a listen address. If the user has named it, failing to listen there ends the
// server; a default address may be in use by another program.
type Address struct {
	Addr  string
	Named bool
}

// A Receiver is one protocol with its settings.
type Receiver struct {
	Protocol receivers.Protocol
	Address  Address
	Options  map[string][]string
}

// Addresses are the addresses on which a server listens.
type Addresses struct {
	HTTP      net.Addr // the first of the HTTP port; nil: off
	Page      string   // URL of the page there; may be empty
	AllHTTP   []net.Addr
	Socket    string
	Receivers map[string]net.Addr // by protocol
	RRDCached []net.Addr
}

func (c Config) withDefaults() Config {
	if c.Grace <= 0 {
		c.Grace = 5 * time.Second
	}
	if c.MaxFuture == 0 {
		c.MaxFuture = receivers.DefaultMaxFuture
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Ready == nil {
		c.Ready = func(Addresses) {}
	}
	return c
}

// RRDCached is the configuration of the server of rrdcached's protocol. The fields Store, Make,
// Own, Held, Answers and Logger of its Options are replaced.
type RRDCached struct {
	rrdcached.Options
	Addresses []rrdcached.Address
	Named     bool // the user has named the addresses: failing to listen there ends the server
	// TLS are the files of a certificate and of its key; if they are not empty, the TCP addresses
	// speak TLS.
	TLS [2]string
	// Define returns the definition of a series that a rule allows and an UPDATE makes. values is
	// the number of values in a sample. With a step of 0 Define chooses the step. sources, if not
	// nil, are the data sources of the rule.
	Define func(path string, values int, sources []rra.DataSource, step int64) *rra.Definition
}
