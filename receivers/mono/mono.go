package mono

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
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
	Enabled: func(c receivers.Config) bool { return c.Address != "" || len(c.OptionValues(flagFile)) > 0 },
	Default: func(c receivers.Config, step int64) *rra.Definition {
		s, _ := configure(c) // Check says what is wrong
		return Define(new(Counter), cmp.Or(step, s.step, 1))
	},
	Check: func(c receivers.Config) error { _, err := configure(c); return err },
	New:   newServer,
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, set: set, sink: sink, asks: receivers.NewResolver(sink, cfg, "mono"), maxHeld: maxHeld, answerTime: answerTime, peers: make(map[string]*agent)}
	s.carried.Rate, s.carried.Burst = float64(set.carried), carriedBurst*float64(set.carried)
	for _, name := range set.files {
		f, err := openRecording(name)
		if err != nil {
			_ = s.Close() // the first error counts
			return nil, flagFile.Wrong(err)
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
