package mono

import (
	"cmp"
	"context"

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
