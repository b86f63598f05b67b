package mono

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// Protocol is the inspector's side of Mono's counters agent. It listens only when it is told to:
// other programs use the port, and what listens on TCP can be reached from any web page that a
// browser on this machine shows.
var Protocol = receivers.Protocol{
	Name:    "mono",
	Title:   "Mono's counters agents",
	Network: "tcp",
	Usage:   "TCP `address` that Mono's counters agents connect to; they look for " + DefaultAddress + "",
	Flags:   append([]receivers.Flag{flagFile, flagDialect, flagAdd, flagStep}, flagConns.All()...),
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
	flagStep  = receivers.StepFlag("mono", "1s")
	flagConns = receivers.NewConnFlags("mono", "an agent", "agents")
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
	files   []string
	dialect Dialect
	add     []wanted
	step    int64 // seconds
	tcp     sockets.TCPOptions
}

func configure(cfg receivers.Config) (s settings, err error) {
	s.files = cfg.OptionValues(flagFile)
	for _, name := range s.files {
		if err := checkRecording(name); err != nil {
			return settings{}, flagFile.Wrong(err)
		}
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
	if s.step, err = cfg.Step(flagStep); err != nil {
		return settings{}, err
	}
	s.tcp, err = flagConns.TCP(cfg)
	return s, err
}

// maxHeld bounds what the announcements of all agents together may hold in memory. One agent's may
// hold some 5 MB.
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
	set.tcp.Traffic = &s.Traffic
	set.tcp.Farewell = []byte{goodBye}
	s.tcp, err = sockets.ListenTCP(set.tcp)
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
