package statsd

import (
	"cmp"
	"context"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
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
		s, _ := configure(c) // Check says what is wrong
		own := cmp.Or(s.step, 10)
		return define(Counter, nil, cmp.Or(step, own), own)
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
	s := &server{cfg: cfg, set: set, sink: sink, asks: receivers.NewResolver(sink, cfg, prefix), metrics: newAggregator(set, cfg.Now().Unix())}
	s.base, s.cut = context.WithCancel(context.Background())
	set.tcp.Traffic = &s.Traffic
	if s.Both, err = sockets.ListenBoth(set.tcp, sockets.UDPOptions{Conn: cfg.PacketConn, Gather: cfg.Gather, Traffic: &s.Traffic}); err != nil {
		return nil, err
	}
	return s, nil
}

// Serve reads until ctx ends. Then it flushes what has arrived.
func (s *server) Serve(ctx context.Context) error {
	defer s.cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(s.cfg.Grace, s.cut) })()
	flushing, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.flushByClock(flushing)
	}()
	err := s.Both.Serve(ctx, s.read, func() {}, s.datagrams)
	end()
	<-ended
	s.flush(ctx, max(s.cfg.Now().Unix(), s.metrics.since+1), true)
	return err
}

// flushByClock flushes at each whole step until ctx ends. The clock may be set, or the machine may
// sleep: so it waits for no time of the clock, but for as long as it is until the next step, and
// flushes then, whatever the clock says.
func (s *server) flushByClock(ctx context.Context) {
	step, flushed := s.set.step, time.Now()
	for {
		now := s.cfg.Now()
		if sleep.For(ctx, time.Unix((now.Unix()/step+1)*step, 0).Sub(now)) != nil {
			return
		}
		at := (s.cfg.Now().Unix() + step/2) / step * step
		if at == s.metrics.since && time.Since(flushed) < time.Duration(step)*time.Second/2 {
			continue // the clock was set back a little: that step is flushed
		}
		flushed = time.Now()
		s.flush(ctx, at, false)
	}
}

// flush stores what has arrived up to the second at.
func (s *server) flush(ctx context.Context, at int64, last bool) {
	s.store(ctx, at, s.metrics.flush(at, last))
	s.Series.Store(s.metrics.series())
}
