package gmetric

import (
	"cmp"
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is Ganglia's metric protocol.
var Protocol = receivers.Protocol{
	Name:    "gmetric",
	Title:   "Ganglia: gmond and gmetric (the protocol has no security: who can send can write as any host)",
	Prefix:  strings.TrimSuffix(prefix, "/"),
	Network: "udp",
	Address: "127.0.0.1:8649",
	Usage:   "UDP `address` that gmond and gmetric send to; a multicast address is joined",
	Flags:   []receivers.Flag{flagGroup, flagAllow, flagHost, flagResolve, flagStep, flagExpire},
	Default: func(c receivers.Config, step int64) *rra.Definition {
		s, _ := configure(c) // Check says what is wrong
		md := defaultMetric(WordDouble)
		return md.define(cmp.Or(step, s.step, gmetadStep))
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
	s := makeServer(cfg, set, sink)
	s.UDP, err = sockets.ListenUDP(sockets.UDPOptions{
		Address: cfg.Address, Conn: cfg.PacketConn, Groups: set.groups, Gather: cfg.Gather, Traffic: &s.Traffic,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve reads until ctx ends.
func (s *server) Serve(ctx context.Context) error {
	s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	if s.names != nil {
		s.names.start()
		defer s.names.stop()
	}
	err := s.UDP.Serve(ctx, s.queue.Flush, func(n int) { s.datagrams(ctx, n) })
	s.finish()
	return err
}

// datagrams reads the n datagrams that have arrived.
func (s *server) datagrams(ctx context.Context, n int) {
	s.begin()
	if s.names != nil {
		s.readNamed()
	}
	for i := range n {
		s.datagram(s.UDP.Packet(i), s.UDP.From(i).Addr())
	}
	if s.news.Ripe(s.UDP.Full(n), s.now) {
		s.resolve(ctx)
	}
	s.tick(ctx)
	s.UDP.WakeAt(s.wake())
	s.Series.Store(s.refs)
}

// readNamed reads the datagrams that have waited for the names of their senders.
func (s *server) readNamed() {
	now := s.at
	for _, h := range s.names.ready(s.now) {
		s.at = h.at
		s.datagram(h.packet, h.addr)
	}
	s.at = now
}

// begin notes the time, and makes room in the cache.
func (s *server) begin() {
	s.now = s.cfg.Now()
	s.second = s.asks.Tick(s.now)
	s.at = rra.Seconds(s.now.Unix())
	if s.queue.Stale() {
		s.forgetSeries()
	}
	if s.cache.Full() {
		s.resolve(context.Background()) // newcomers name entries
		s.restart()
	}
}

// wake returns when datagrams must be called even if nothing arrives.
func (s *server) wake() time.Time {
	switch {
	case s.names != nil && s.names.waiting(), len(s.texts.dirty) >= describeMany:
		return time.Now().Add(soon)
	case len(s.held) > 0 || len(s.texts.dirty) > 0:
		return s.ticked.Add(s.every)
	}
	return time.Time{}
}

// tick assumes metadata for values that have waited for it for too long, and hands over metadata
// that is to be stored.
func (s *server) tick(ctx context.Context) {
	now := time.Now() // not cfg.Now, which says when things happened
	if now.Sub(s.ticked) < s.every {
		if len(s.texts.dirty) >= describeMany {
			s.flushTexts(ctx, false)
		}
		return
	}
	s.ticked = now
	s.release()
	s.resolve(ctx)
	s.flushTexts(ctx, false)
}

// finish hands over samples and metadata when Serve ends, and waits until they are stored. Values
// without metadata are dropped: a series made with assumed metadata would keep it for ever.
func (s *server) finish() {
	s.Drop(receivers.State, uint64(len(s.held)))
	if s.names != nil {
		s.Drop(receivers.State, uint64(len(s.names.held)))
	}
	s.flushTexts(context.Background(), true)
	s.queue.Stop()
}

func (s *server) datagram(packet []byte, from netip.Addr) {
	if !s.allowed(from) {
		s.bad(from, &receivers.Error{Reason: receivers.Auth, What: "address is none of --" + flagAllow.Name})
		return
	}
	s.sender.set(from)
	m := &s.msg
	if err := m.Decode(packet); err != nil {
		s.bad(from, err)
		return
	}
	if m.Word == WordRequest {
		return // gmonds ask each other
	}
	host := m.HostName
	if len(host) == 0 || s.set.source && !m.Spoof {
		if host = s.sender.host(); s.names != nil {
			if host = s.names.find(from, packet, s.now, s.at); host == nil {
				return
			}
		}
	}
	s.message(m, host)
	if s.news.Full() {
		s.resolve(context.Background())
	}
}

func (s *server) allowed(from netip.Addr) bool {
	if len(s.set.allow) == 0 {
		return true
	}
	if from.Zone() != "" {
		from = from.WithZone("")
	}
	for _, p := range s.set.allow {
		if p.Contains(from) {
			return true
		}
	}
	return false
}

// message takes a message about a metric of host.
func (s *server) message(m *Message, host []byte) {
	i, ok := s.cache.FindAgain(host, m.Name)
	if !ok {
		i = s.cache.Add(host, m.Name)
		if string(m.Name) == heartbeat {
			s.cache.At(i).flags |= beats
		}
	}
	e := s.cache.At(i)
	if e.dmax > 0 && s.second-e.seen > e.dmax && e.is(known) {
		s.expire(e, i)
	}
	if !e.is(asked) {
		s.ask(e, i)
	}
	if m.Word.Old() || m.Word == WordMetadata {
		s.describe(e, i, m)
	}
	if m.Word != WordMetadata {
		e.seen = s.second
		s.read(e, i, m)
	}
}

// bad counts and logs what is wrong with a datagram.
func (s *server) bad(from netip.Addr, err error) {
	s.Drop(receivers.ReasonOf(err), 1)
	source := from.String()
	if ok, held := s.lines.Allow(source, s.now); ok {
		s.cfg.Logger.Warn("gmetric: bad packet", "from", source, "err", err, "held_back_lines", held)
	}
}
