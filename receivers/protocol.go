package receivers

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net"
	"time"

	"github.com/rondo-db/rondo/rra"
)

// A Protocol is one way in.
type Protocol struct {
	// Name names the flag that takes the listen address (--collectd) and the label in /metrics.
	Name string
	// Title stands above the protocol's flags in the help; empty: Name.
	Title string
	// Prefix is the first component of the series' paths; empty: Name.
	Prefix string
	// Network is what the address is for: "udp", "tcp" or "dir".
	Network string
	// Address is where it listens by default; empty: off until told.
	Address string
	// Usage is the help text of the flag --Name.
	Usage string
	// Flags are the further flags of the protocol.
	Flags []Flag
	// Enabled reports whether there is something to receive from; nil: there is where the address
	// is not empty. Where it is true of an empty address, the Addr of the Receiver is nil.
	Enabled func(Config) bool
	// Reread reports whether a reload must open the receiver anew though its settings are the same,
	// because they name files that are read only then; nil: never.
	Reread func(Config) bool
	// Default returns what a typical new series of the protocol is made of, for people to read;
	// nil: StandardDefinition. A step of 0 is the protocol's own.
	Default func(c Config, step int64) *rra.Definition
	// Check says what is wrong with a configuration, without opening anything; nil: nothing can be.
	Check func(Config) error
	// Secured reports whether the configuration takes nothing but what senders have signed or
	// encrypted; nil: it cannot.
	Secured func(Config) bool
	// New opens the socket, so that a port that is taken is an error here.
	New func(Config, Sink) (Receiver, error)
}

// PathPrefix returns the first component of the series' paths.
func (p *Protocol) PathPrefix() string { return cmp.Or(p.Prefix, p.Name) }

// A Flag is one command-line flag of a protocol. Its value reaches New in Config.Options.
type Flag struct {
	Name    string // with the protocol's name in front: collectd-group
	Default string
	Usage   string
	Repeat  bool // may be given more than once
	Switch  bool // may be given without a value, which then is true
	File    bool // names a file that is read again when the configuration is
}

// Config is what a receiver is made from. The zero value of each field but
// Address is what production runs.
type Config struct {
	// Address is the listen address, host:port, or the folder of a "dir" protocol.
	Address string
	// Options holds the values of the protocol's flags by their names. A flag that is absent has
	// its default.
	Options map[string][]string
	// PacketConn, if not nil, is an open socket to use in place of Address (socket activation).
	PacketConn net.PacketConn
	// Listener, if not nil, is the same for a protocol over TCP.
	Listener net.Listener
	// MaxFuture is how far ahead of the clock a sample may be; 0: one hour, negative: no limit.
	MaxFuture time.Duration
	// InFlight is how many batches may be on their way into the sink, of at most 16,384 samples or
	// some 0.9 MB each; 0: 64, which is half a second at 2 million samples a second.
	InFlight int
	// Grace is how long Serve waits, once its context has ended, for what it has read
	// to be stored; 0: 5 s.
	Grace time.Duration
	// Patience is how long a connection is held up while the store takes nothing, before what it
	// brings is shed; 0: 5 s.
	Patience time.Duration
	// Yield is how long the peer of a connection may be silent while all places are taken and
	// another needs one; 0: a minute.
	Yield time.Duration
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Logger takes what an operator can act on; nil: silent.
	Logger *slog.Logger
}

// The defaults of Config.
const (
	DefaultMaxFuture = time.Hour
	DefaultInFlight  = 64
	DefaultGrace     = 5 * time.Second
	DefaultPatience  = 5 * time.Second
)

// WithDefaults returns c with its zero fields filled in.
func (c Config) WithDefaults() Config {
	if c.MaxFuture == 0 {
		c.MaxFuture = DefaultMaxFuture
	}
	if c.InFlight <= 0 {
		c.InFlight = DefaultInFlight
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.Patience <= 0 {
		c.Patience = DefaultPatience
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Latest returns the time beyond which a sample is of the future, and refused, when now is the
// present.
func (c Config) Latest(now time.Time) rra.Time {
	if c.MaxFuture < 0 {
		return math.MaxInt64
	}
	return rra.Time(now.Add(c.MaxFuture).UnixMicro())
}

// Option returns the last value given for f, or its default.
func (c Config) Option(f Flag) string {
	vs := c.OptionValues(f)
	if len(vs) == 0 {
		return ""
	}
	return vs[len(vs)-1]
}

// OptionValues returns all values given for f, without empty ones, or its default.
func (c Config) OptionValues(f Flag) []string {
	var vs []string
	for _, v := range c.Options[f.Name] {
		if v != "" {
			vs = append(vs, v)
		}
	}
	if len(vs) == 0 && f.Default != "" {
		vs = []string{f.Default}
	}
	return vs
}

// A Receiver is one protocol at one address.
type Receiver interface {
	// Serve reads until ctx ends, then stores what it has read and returns nil when
	// nothing of it is left running. Another error says why it cannot go on. It is called once.
	Serve(ctx context.Context) error
	// Addr is where it listens.
	Addr() net.Addr
	// Stats returns its counters; it may be called at any time.
	Stats() Stats
	// Close releases the socket of a receiver that is not going to be served. After Serve it does
	// nothing.
	Close() error
}

// A Controller is a Receiver that can be told to do something while it serves.
type Controller interface {
	Receiver
	// Control runs one command, its name first, and returns what it answers. It may be called at
	// any time.
	Control(ctx context.Context, args []string) (Table, error)
}

// A Table is an answer in rows and columns.
type Table struct {
	Columns []string
	Rows    [][]string
}
