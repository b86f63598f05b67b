package receivers

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Protocol is a protocol that a server can receive.
type Protocol struct {
	// Name names the flag that takes the listen address (--collectd) and the label in /metrics.
	Name string
	// Title stands above the protocol's flags in the help; empty: Name.
	Title string
	// Prefix is the first component of the series' paths; empty: Name.
	Prefix string
	// Network is what the address is for: "udp", "tcp", "tcp+udp" (both at one address) or "dir";
	// or "http" for requests to the server's own HTTP port. Such a protocol has Routes and no
	// address: the flag --Name is on or off, and the Receiver is a Handler.
	Network string
	// Address is where it listens by default; empty: only at addresses that are given. Of the
	// network "http": On or empty.
	Address string
	// Routes are the requests that the protocol takes, each a method and a path without wildcards:
	// "POST /api/v1/write".
	Routes []string
	// Usage is the help text of the flag --Name.
	Usage string
	// Flags are the further flags of the protocol.
	Flags []Flag
	// Shares are flags of another protocol whose values this one gets, too.
	Shares []Flag
	// Enabled reports whether a configuration receives anything; nil: it does if its address is not
	// empty. If it is enabled with an empty address, the Addr of its Receiver is nil.
	Enabled func(Config) bool
	// Reread reports whether a reload must open the receiver again although its settings are the
	// same, because they name files that are read only by New; nil: never.
	Reread func(Config) bool
	// Default returns the definition of a typical new series, for people to read; nil:
	// StandardDefinition. step is in seconds; 0: the protocol's own.
	Default func(c Config, step int64) *rra.Definition
	// Check returns what is wrong with a configuration. It opens nothing. nil: every configuration
	// is valid.
	Check func(Config) error
	// Secured reports whether a configuration takes only samples that are signed or encrypted; nil:
	// the protocol has no security.
	Secured func(Config) bool
	// New opens the socket. It returns an error if the address is taken.
	New func(Config, Sink) (Receiver, error)
}

// PathPrefix returns the first component of the paths of the protocol's series.
func (p *Protocol) PathPrefix() string { return cmp.Or(p.Prefix, p.Name) }

// Sockets returns the networks on which the protocol listens: "tcp", "udp" or both; none if its
// address is a folder, or it is requests to the HTTP port.
func (p *Protocol) Sockets() []string {
	switch p.Network {
	case "tcp", "udp":
		return []string{p.Network}
	case "tcp+udp":
		return []string{"tcp", "udp"}
	}
	return nil
}

// A Flag is one command-line flag of a protocol. Its value reaches New in Config.Options.
type Flag struct {
	Name    string // with the protocol's name in front: collectd-group
	Default string
	Usage   string
	Repeat  bool // may be given more than once
	Switch  bool // may be given without a value, which means true
	File    bool // names a file that is read again when the configuration is read again
}

// Config configures a receiver. Except for Address, the zero value of each field is what production
// runs.
type Config struct {
	// Address is the listen address, host:port; or the folder of a "dir" protocol; or the address
	// of the HTTP port.
	Address string
	// Options holds the values of the protocol's flags by name. A flag that is missing has its
	// default.
	Options map[string][]string
	// PacketConn, if not nil, is an open socket to use in place of Address (socket activation).
	PacketConn net.PacketConn
	// Listener, if not nil, is the same for a protocol over TCP. A protocol over both listens only
	// at the sockets that are not nil, if one is.
	Listener net.Listener
	// MaxFuture is how far ahead of the clock the time of a sample may be; 0: one hour, negative:
	// no limit.
	MaxFuture time.Duration
	Held      bool // the store holds samples back, so that late ones come in order
	// InFlight is how many batches may be on their way into the sink. A batch has at most 16,384
	// samples and takes some 0.9 MB. 0: 64, half a second of 2 million samples a second.
	InFlight int
	// Gather is how long a sample whose sender gets no answer may wait for others, to be stored
	// with them; 0: 50 ms, negative: not at all. Serve stores what waits before it returns.
	Gather time.Duration
	// Grace is how long Serve waits, after its context has ended, until samples that it has read
	// are stored; 0: 5 s.
	Grace time.Duration
	// Patience is how long a connection is held up while the store takes no samples, before its
	// samples are shed; 0: 5 s.
	Patience time.Duration
	// Yield is how long a peer may be silent before a new connection may take its place, when all
	// places are taken; 0: a minute.
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
	DefaultGather    = 50 * time.Millisecond
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
	if c.Gather == 0 {
		c.Gather = DefaultGather
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

// Latest returns the latest time that a sample may have if the clock says now. Samples with a later
// time are refused.
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
	// Serve reads until ctx ends. Then it stores the samples that it has read, ends all its
	// goroutines, and returns nil. An error says why it could not read until ctx ended. Serve is
	// called once.
	Serve(ctx context.Context) error
	// Addr returns where it listens.
	Addr() net.Addr
	// Stats returns its counters. It may be called at any time.
	Stats() Stats
	// Close releases the socket if Serve is not going to be called. After Serve it does nothing.
	Close() error
}

// A Controller is a Receiver that takes commands while it serves.
type Controller interface {
	Receiver
	// Control runs one command and returns its answer. args is the command's name and its
	// arguments. Control may be called at any time.
	Control(ctx context.Context, args []string) (Table, error)
}

// A Table is an answer in rows and columns.
type Table struct {
	Columns []string
	Rows    [][]string
}

// ErrSenderLimit is a Request.Err: the sender has made too many new series lately.
var ErrSenderLimit = errors.New("too many new series of one sender")

// An Error says why a packet, or the rest of one, was not read.
type Error struct {
	Reason Reason
	Offset int    // bytes from the beginning of the packet
	What   string // what is wrong there
}

func (e *Error) Error() string { return e.Reason.String() + ": " + e.What }

// ReasonOf returns the Reason of the Error in err; Failed if err holds no Error.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return Failed
}

// LossOf returns which samples of a batch of n were refused, or nil, and how many were not stored
// because the sink has failed.
func LossOf(err error, n int) (rejected *core.RejectedError, missing int) {
	if err == nil {
		return nil, 0
	}
	if partial, ok := errors.AsType[*core.PartialError](err); ok {
		return partial.Rejected, len(partial.Missing)
	}
	if r, ok := errors.AsType[*core.RejectedError](err); ok {
		return r, 0
	}
	return nil, n
}

// FailureReason returns the reason that an error of a sink is counted as: Overload if the store
// could not take the samples in time, or could not be reached, else Failed.
func FailureReason(err error) Reason {
	if errors.Is(err, core.ErrMemory) || errors.Is(err, core.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return Overload
	}
	return Failed
}
