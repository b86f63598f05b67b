package smon

import (
	"cmp"
	"context"
	"hash/maphash"
	"net"
	"sync"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is the smon compressed token stream.
var Protocol = receivers.Protocol{
	Name:    "smon",
	Title:   "smon's token streams",
	Network: "tcp",
	Usage:   "TCP `address` that smon token streams are sent to; the protocol has no usual port",
	Flags:   append([]receivers.Flag{flagFile, flagKind, flagStep}, flagConns.All()...),
	Enabled: func(c receivers.Config) bool { return c.Address != "" || len(c.OptionValues(flagFile)) > 0 },
	Default: func(c receivers.Config, step int64) *rra.Definition {
		s, _ := configure(c) // Check says what is wrong
		return define(rra.Gauge, cmp.Or(step, s.step))
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
	s := &server{
		cfg: cfg, set: set, sink: sink, asks: receivers.NewResolver(sink, cfg, "smon"), seed: maphash.MakeSeed(), held: limit.New(maxHeld, maxHostHeld),
	}
	if s.files, err = openFiles(set.files); err != nil {
		return nil, flagFile.Wrong(err)
	}
	if cfg.Address == "" && cfg.Listener == nil {
		return s, nil
	}
	set.tcp.Traffic = &s.Traffic
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
	for _, f := range s.files {
		f.close()
	}
	if s.tcp == nil {
		return nil
	}
	return s.tcp.Close()
}

// Serve reads files and connections until ctx ends. It goes on when all files have been read.
func (s *server) Serve(ctx context.Context) error {
	s.queue = receivers.NewSharedQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	for _, f := range s.files {
		reading.Go(func() { s.readFile(ctx, f) })
	}
	if s.tcp == nil {
		<-ctx.Done()
		return nil
	}
	return s.tcp.Serve(ctx, s.handle)
}
