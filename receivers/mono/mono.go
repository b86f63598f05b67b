package mono

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/allowance"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/streams"
	"github.com/rondo-db/rondo/rra"
)

// DefaultAddress is where agents look for an inspector on their own machine.
const DefaultAddress = "127.0.0.1:8888"

// Protocol is the inspector's side of Mono's counters agent. It listens only when an address is
// given: other programs use the port, and what listens on TCP can be reached from any web page that
// a browser on this machine shows.
var Protocol = receivers.Protocol{
	Name:    "mono",
	Title:   "Mono's counters agents",
	Network: "tcp",
	Usage:   "TCP `address` that Mono's counters agents connect to; they look for " + DefaultAddress,
	Flags:   append([]receivers.Flag{flagFile, flagDialect, flagAdd, flagCarried, flagStep}, flagConns.All()...),
	Enabled: streams.Enabled(flagFile),
	Default: func(c receivers.Config, step int64) *rra.Definition {
		s, _ := configure(c) // Check says what is wrong
		return Define(new(Counter), cmp.Or(step, s.step, 1))
	},
	Check: func(c receivers.Config) error { _, err := configure(c); return err },
	New:   newServer,
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{set: set, maxHeld: maxHeld, answerTime: answerTime, peers: make(map[string]*agent)}
	s.carried.Rate, s.carried.Burst = float64(set.carried), carriedBurst*float64(set.carried)
	set.tcp.Farewell = []byte{goodBye}
	if err := s.Open(cfg, sink, streams.Options{Protocol: "mono", Files: flagFile, TCP: set.tcp}); err != nil {
		return nil, err
	}
	return s, nil
}

// Serve reads the files, and agents until ctx ends.
func (s *server) Serve(ctx context.Context) error { return s.Read(ctx, s.handle) }

// maxHeld is how many bytes of memory the announcements of all agents may take together. One
// agent's take up to 5 MB.
const maxHeld = 256 << 20

// A server is the receiver.
type server struct {
	streams.Server
	set     settings
	held    atomic.Int64         // by the decoders of all agents, in bytes
	carried allowance.Allowances // values carried forward for the agents of one address

	maxHeld    int64
	answerTime time.Duration // how long an agent may take to answer

	mu    sync.Mutex        // guards what follows
	peers map[string]*agent // connected
}

// An agent is one connection, or one file that an agent has recorded.
type agent struct {
	*streams.Stream
	s     *server
	since time.Time

	// writing is held while a request is written, because requests are answered in the order in
	// which they are written. It is locked before mu.
	writing sync.Mutex
	// left says that no more requests are written: good bye was said, or a write has failed. It is
	// guarded by writing.
	left bool

	mu        sync.Mutex // guards what follows
	dec       Decoder
	series    []receivers.Series // by position in dec.Readings
	new       []int              // positions whose series are to be described
	positions []int              // 0, 1, 2, … for all readings
	asked     []*question
	greeted   bool // the hello has come, and the agent is to be asked for counters
	samples   uint64
	last      rra.Time        // time of the last sample
	ctx       context.Context // during decode
	now       time.Time       // when the bytes at hand were read
	gen       uint64          // generation of the references
	held      int             // bytes counted in server.held
	value     [1]rra.Value
}

func (a *agent) forgetSeries(i int) {
	if a.series[i].Ref != 0 {
		a.s.Series.Add(-1)
	}
	a.series[i] = receivers.Series{}
}

// bad counts and logs the error that ends the stream.
func (a *agent) bad(err error) {
	a.s.Drop(receivers.ReasonOf(err), 1)
	offset := 0
	if e, ok := errors.AsType[*receivers.Error](err); ok {
		offset = e.Offset
	}
	a.s.Lines.Log(a.s.Config.Logger.Warn, a.Host, a.s.Config.Now(), "mono: stream ends", "peer", a.Peer, "offset", offset, "err", err)
}

func (a *agent) log(key, what string, args ...any) {
	a.s.Lines.Log(a.s.Config.Logger.Warn, key, a.now, "mono: "+what, append(args, "peer", a.Peer)...)
}

// reading returns a counter that is sampled, or nil. a.mu is held.
func (a *agent) reading(w wanted) *Reading {
	rs := a.dec.Readings()
	for i := range rs {
		if r := &rs[i]; !r.Removed && r.Name == w.name && r.Category.String() == w.category {
			return r
		}
	}
	return nil
}

var (
	flagFile = receivers.Flag{
		Name: "mono-file", Repeat: true,
		Usage: "recorded `file` of an agent, to be read once at the start",
	}
	flagDialect = receivers.Flag{
		Name: "mono-dialect", Default: "page",
		Usage: "`dialect` of requests: page (as published) or agent (as the agent of 2014 reads them)",
	}
	flagAdd = receivers.Flag{
		Name: "mono-add", Repeat: true,
		Usage: "`counter` to ask every agent for, as category/name: 'Mono GC/Minor GC collections'",
	}
	flagCarried = receivers.Flag{
		Name: "mono-carried", Default: strconv.Itoa(carriedRate),
		Usage: "stored `values` a second, for the agents of one address, of counters that have not changed",
	}
	flagStep  = receivers.StepFlag("mono", "1s")
	flagConns = receivers.NewConnFlags("mono", "an agent", "agents")
)

// An empty sample of eleven bytes makes the receiver store the last values of all counters of an
// agent, up to 4096. To bound this work, only a limited number of values is carried forward for the
// agents of one address. Values that are sent are not counted, because they take 8 bytes each.
const (
	carriedRate  = 1 << 18 // values a second, unless --mono-carried says otherwise
	carriedBurst = 4       // seconds of them at once
)

// maxWanted is the largest number of counters that every agent is asked for.
const maxWanted = 256

// A wanted is a counter by its names.
type wanted struct{ category, name string }

func (w wanted) String() string { return w.category + "/" + w.name }

// parseWanted parses CATEGORY/NAME. The name may contain slashes.
func parseWanted(s string) (wanted, error) {
	category, name, ok := strings.Cut(s, "/")
	if !ok {
		return wanted{}, fmt.Errorf("%q is no CATEGORY/NAME", s)
	}
	if err := errors.Join(checkText("category", category), checkText("name", name)); err != nil {
		return wanted{}, fmt.Errorf("%q is no CATEGORY/NAME: %w", s, err)
	}
	return wanted{category, name}, nil
}

// settings are the values of the protocol's flags.
type settings struct {
	dialect Dialect
	add     []wanted
	carried int   // values a second
	step    int64 // seconds
	tcp     sockets.TCPOptions
}

func configure(cfg receivers.Config) (s settings, err error) {
	if err := streams.Check(cfg, flagFile); err != nil {
		return settings{}, err
	}
	if s.dialect, err = ParseDialect(cfg.Option(flagDialect)); err != nil {
		return settings{}, flagDialect.Wrong(err)
	}
	for _, text := range cfg.OptionValues(flagAdd) {
		w, err := parseWanted(text)
		if err != nil {
			return settings{}, flagAdd.Wrong(err)
		}
		s.add = append(s.add, w)
	}
	if len(s.add) > maxWanted {
		return settings{}, flagAdd.Wrong(fmt.Errorf("%d counters, at most %d are allowed", len(s.add), maxWanted))
	}
	if s.carried, err = cfg.Number(flagCarried); err != nil {
		return settings{}, err
	}
	if s.step, err = cfg.Step(flagStep); err != nil {
		return settings{}, err
	}
	s.tcp, err = flagConns.TCP(cfg)
	return s, err
}
