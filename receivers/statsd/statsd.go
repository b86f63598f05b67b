package statsd

import (
	"context"
	"net"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is StatsD.
var Protocol = receivers.Protocol{
	Name:    prefix,
	Title:   "StatsD (the protocol has no security)",
	Network: "tcp+udp",
	Usage:   "UDP and TCP `address` that clients of StatsD send to; 8125 is the usual port",
	Flags:   flags,
	Default: func(c receivers.Config, step int64) *rra.Definition {
		s, err := configure(c)
		if err != nil {
			s.step = 10
		}
		if step == 0 {
			step = s.step
		}
		return define(Counter, nil, step, s.step)
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
	s := &server{cfg: cfg, set: set, sink: sink, metrics: newAggregator(set, cfg.Now().Unix())}
	set.tcp.Traffic = &s.Traffic
	if s.both, err = sockets.ListenBoth(set.tcp, sockets.UDPOptions{Conn: cfg.PacketConn, Traffic: &s.Traffic}); err != nil {
		return nil, err
	}
	return s, nil
}

// Addr is where it listens.
func (s *server) Addr() net.Addr { return s.both.Addr() }

// Close closes the sockets.
func (s *server) Close() error { return s.both.Close() }

// Serve reads until ctx ends. Then it flushes what has arrived.
func (s *server) Serve(ctx context.Context) error {
	s.queue = receivers.NewSharedQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	flushing, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.flushes(flushing)
	}()
	err := s.both.Serve(ctx, s.read, func() {}, s.datagrams)
	end()
	<-ended
	s.flush(ctx, max(s.cfg.Now().Unix(), s.metrics.since+1), true)
	return err
}

// flushes flushes at each whole step until ctx ends.
func (s *server) flushes(ctx context.Context) {
	step := s.set.step
	for {
		now := s.cfg.Now()
		next := time.Unix((now.Unix()/step+1)*step, 0)
		timer := time.NewTimer(next.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		// The clock may have been set, or the machine may have slept.
		if at := s.cfg.Now().Unix() / step * step; at > s.metrics.since {
			s.flush(ctx, at, false)
		}
	}
}

// flush stores what has arrived up to the second at.
func (s *server) flush(ctx context.Context, at int64, last bool) {
	s.store(ctx, s.metrics.flush(at, last))
	s.Series.Store(s.metrics.series())
}
