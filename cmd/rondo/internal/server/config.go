package server

import (
	"log/slog"
	"net"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/unixsocket"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// A Config is what a server is made from.
type Config struct {
	DB      string // the database's folder
	Version string
	Engine  core.Options
	HTTP    Address
	Socket  unixsocket.Access // who may connect to the command line's socket
	// HTTPHosts are names that the HTTP port answers to beside its own; "*" stands for every name.
	HTTPHosts []string
	// Ways are the ways in.
	Ways Ways
	// RRDCached is where rrdcached's protocol is spoken.
	RRDCached RRDCached
	// MaxFuture is how far ahead of the clock a sample may be; 0: one hour, negative: no limit.
	MaxFuture time.Duration
	// Limits are those of senders; its Policy is that of Ways.
	Limits sink.Options
	// Memory bounds the Go heap of the process; 0: the limit that GOMEMLIMIT says.
	Memory int64
	// Grace is how long open requests may take at the end; 0: 5 s.
	Grace time.Duration
	// Reload gives the ways in after a change of the configuration; nil: they never change.
	Reload <-chan Ways
	Getenv func(string) string // systemd's variables; nil: none
	Logger *slog.Logger        // nil: silent
	// Ready, if not nil, is called once everything listens.
	Ready func(Addresses)

	bounds *bounds // of the HTTP port; nil: the default ones
}

// Ways are the ways into a store. They may change while the server runs.
type Ways struct {
	// Receivers are the protocols, each with its settings; one without an address is off.
	Receivers []Receiver
	// Policy decides about new series; nil: the protocols do.
	Policy *sink.Policy
	// Err says why a configuration that was read again cannot be taken; nil: it can.
	Err error
	// Restart is how many settings of a configuration that was read again need a restart.
	Restart int
}

// An Address is a listen address. One that was named must be had; a default one may be taken.
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

// Addresses is what a server listens on.
type Addresses struct {
	HTTP      net.Addr // nil: off
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
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Ready == nil {
		c.Ready = func(Addresses) {}
	}
	return c
}

// RRDCached says where rrdcached's protocol is spoken.
type RRDCached struct {
	Addresses []rrdcached.Address
	Named     bool // they were named: they must be had
	// Base is the folder that is cut off the front of names.
	Base string
	// Adopt has native files below Base become series when clients name them.
	Adopt bool
	// Conns, HostConns and Idle are limits; 0: the protocol's own.
	Conns, HostConns int
	Idle             time.Duration
	// Define makes the definition of a series that a rule names and an UPDATE brings, with so many
	// values a sample; a step of 0 is its own choice. Sources, if not nil, are those of the rule.
	Define func(path string, values int, sources []rra.DataSource, step int64) *rra.Definition
}
