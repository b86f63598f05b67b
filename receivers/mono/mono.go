package mono

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// DefaultAddress is where agents look for an inspector on their own machine.
const DefaultAddress = "127.0.0.1:8888"

// Protocol is the inspector's side of Mono's counters agent. It listens only when it is told to: other programs use the port, and what
// listens on TCP can be reached from any web page that a browser on this machine shows.
var Protocol = receivers.Protocol{
	Name:    "mono",
	Network: "tcp",
	Usage:   "TCP `address` that Mono's counters agents connect to; they look for " + DefaultAddress + "",
	Flags:   []receivers.Flag{flagFile, flagDialect, flagAdd, flagStep, flagIdle, flagConns, flagHostConns},
	Enabled: func(c receivers.Config) bool { return c.Address != "" || len(c.OptionValues(flagFile)) > 0 },
	Default: func(c receivers.Config, step int64) *rra.Definition {
		if s, err := configure(c); err == nil && step == 0 {
			step = s.step
		}
		return Define(new(Counter), max(step, 1))
	},
	Check: func(c receivers.Config) error { _, err := configure(c); return err },
	New:   newServer,
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
	flagStep = receivers.Flag{
		Name: "mono-step", Default: "1s",
		Usage: "`step` of new series",
	}
	flagIdle = receivers.Flag{
		Name: "mono-idle", Default: "10m",
		Usage: "close the connection of an agent that is silent for this `time`; 0: never",
	}
	flagConns = receivers.Flag{
		Name: "mono-connections", Default: strconv.Itoa(sockets.DefaultConns),
		Usage: "the largest `number` of agents",
	}
	flagHostConns = receivers.Flag{
		Name: "mono-host-connections", Default: strconv.Itoa(sockets.DefaultHostConns),
		Usage: "the largest `number` of agents of one address",
	}
)

// maxWanted bounds what every agent is asked for.
const maxWanted = 256

// A wanted is a counter by its names.
type wanted struct{ category, name string }

func (w wanted) String() string { return w.category + "/" + w.name }

// parseWanted reads CATEGORY/NAME. The name may have slashes.
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

// settings is what the protocol's flags say.
type settings struct {
	files            []string
	dialect          Dialect
	add              []wanted
	step             int64 // seconds
	idle             time.Duration
	conns, hostConns int
}

func configure(cfg receivers.Config) (s settings, err error) {
	wrong := func(f receivers.Flag, err error) (settings, error) {
		return settings{}, fmt.Errorf("--%s: %w", f.Name, err)
	}
	s.files = cfg.OptionValues(flagFile)
	for _, name := range s.files {
		if err := checkRecording(name); err != nil {
			return wrong(flagFile, err)
		}
	}
	if s.dialect, err = ParseDialect(cfg.Option(flagDialect)); err != nil {
		return wrong(flagDialect, err)
	}
	for _, text := range cfg.OptionValues(flagAdd) {
		w, err := parseWanted(text)
		if err != nil {
			return wrong(flagAdd, err)
		}
		s.add = append(s.add, w)
	}
	if len(s.add) > maxWanted {
		return wrong(flagAdd, fmt.Errorf("%d counters, at most %d are allowed", len(s.add), maxWanted))
	}
	if s.step, err = receivers.ParseStep(cfg.Option(flagStep)); err != nil {
		return wrong(flagStep, err)
	}
	if s.idle, err = receivers.ParseDuration(cfg.Option(flagIdle)); err != nil || s.idle < 0 {
		return wrong(flagIdle, fmt.Errorf("%q is no time such as 10m", cfg.Option(flagIdle)))
	}
	if s.idle == 0 {
		s.idle = -1
	}
	for f, n := range map[*receivers.Flag]*int{&flagConns: &s.conns, &flagHostConns: &s.hostConns} {
		if *n, err = strconv.Atoi(cfg.Option(*f)); err != nil || *n < 1 {
			return wrong(*f, fmt.Errorf("%q is no number above 0", cfg.Option(*f)))
		}
	}
	return s, nil
}

// maxHeld bounds what the announcements of all agents together may hold in memory. One agent's may hold some 5 MB.
const maxHeld = 256 << 20

// A server is the receiver.
type server struct {
	receivers.Counters
	cfg     receivers.Config
	set     settings
	sink    receivers.Sink
	tcp     *sockets.TCP // nil: only files are read
	files   []*recording
	queue   *receivers.SharedQueue
	held    atomic.Int64 // by the decoders of all agents, in bytes
	carried pace
	lines   loglimit.Limit[string]

	maxHeld    int64
	answerTime time.Duration // how long an agent may take to answer

	mu    sync.Mutex        // guards what follows
	peers map[string]*agent // connected
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, set: set, sink: sink, maxHeld: maxHeld, answerTime: answerTime, peers: make(map[string]*agent)}
	for _, name := range set.files {
		f, err := openRecording(name)
		if err != nil {
			_ = s.Close() // the first error counts
			return nil, fmt.Errorf("--%s: %w", flagFile.Name, err)
		}
		s.files = append(s.files, f)
	}
	if cfg.Address == "" && cfg.Listener == nil {
		return s, nil
	}
	s.tcp, err = sockets.ListenTCP(sockets.TCPOptions{
		Address: cfg.Address, Listener: cfg.Listener, Conns: set.conns, HostConns: set.hostConns, Idle: set.idle, Yield: cfg.Yield,
		Farewell: []byte{goodBye}, Traffic: &s.Traffic, Logger: cfg.Logger,
	})
	if err != nil {
		_ = s.Close() // the first error counts
		return nil, err
	}
	return s, nil
}

// Addr is where it listens; nil: only files are read.
func (s *server) Addr() net.Addr {
	if s.tcp == nil {
		return nil
	}
	return s.tcp.Addr()
}

// Close closes the socket and the files.
func (s *server) Close() error {
	var errs []error
	if s.tcp != nil {
		errs = append(errs, s.tcp.Close())
	}
	for _, f := range s.files {
		_ = f.Close() // only read, perhaps to its end
	}
	return errors.Join(errs...)
}

// Serve reads the files, and agents until ctx ends.
func (s *server) Serve(ctx context.Context) error {
	s.queue = receivers.NewSharedQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reading.Go(func() { s.readFiles(ctx) })
	if s.tcp == nil {
		<-ctx.Done()
		return nil
	}
	return s.tcp.Serve(ctx, s.handle)
}

// latest is the time beyond which a sample is of the future.
func (s *server) latest(now time.Time) rra.Time {
	if s.cfg.MaxFuture < 0 {
		return 1<<63 - 1
	}
	return rra.Time(now.Add(s.cfg.MaxFuture).UnixMicro())
}
