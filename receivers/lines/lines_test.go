// Package lines receives lines of text over UDP. It is the example of docs/adding-a-receiver.md: a
// complete receiver, as small as it can be. The server does not offer it: only tests build it.
package lines

import (
	"context"
	"net"
	"net/netip"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is lines of text over UDP.
var Protocol = receivers.Protocol{
	Name:    "lines",
	Title:   "Lines of text",
	Network: "udp",
	Usage:   "UDP `address` that lines of text are sent to, NAME VALUE SECOND",
	Flags:   []receivers.Flag{flagStep},
	Default: func(c receivers.Config, step int64) *rra.Definition {
		if own, err := c.Step(flagStep); err == nil && step == 0 {
			step = own
		}
		return receivers.StandardDefinition(step)
	},
	Check: func(c receivers.Config) error { _, err := c.Step(flagStep); return err },
	New:   newServer,
}

var flagStep = receivers.StepFlag("lines", "10s")

// A server is the receiver. Only the goroutine of Serve uses it, except for the counters.
type server struct {
	receivers.Counters
	cfg   receivers.Config
	sink  receivers.Sink
	udp   *sockets.UDP
	queue *receivers.Queue
	names *names
	log   loglimit.Limit[netip.Addr]
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	step, err := cfg.Step(flagStep)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, sink: sink}
	s.names = newNames(sink, &s.Counters, cfg, step)
	s.udp, err = sockets.ListenUDP(sockets.UDPOptions{Address: cfg.Address, Conn: cfg.PacketConn, Traffic: &s.Traffic})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Addr returns where it listens.
func (s *server) Addr() net.Addr { return s.udp.Addr() }

// Close closes the socket.
func (s *server) Close() error { return s.udp.Close() }

// Serve reads until ctx ends.
func (s *server) Serve(ctx context.Context) error {
	s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	return s.udp.Serve(ctx, s.queue.Flush, func(n int) { s.datagrams(ctx, n) })
}

// datagrams reads the n datagrams that have arrived.
func (s *server) datagrams(ctx context.Context, n int) {
	s.names.begin(s.cfg.Now(), s.queue.Stale())
	for i := range n {
		from := s.udp.From(i).Addr()
		if err := Decode(s.udp.Packet(i), func(l Line) { s.names.add(s.queue, from, l) }); err != nil {
			s.bad(from, err)
		}
		if s.names.news.Full() {
			s.names.resolve(ctx, s.queue)
		}
	}
	s.names.resolve(ctx, s.queue) // all at once: one wait for the store, not one for each series
	s.Series.Store(int64(len(s.names.known)))
}

// bad counts and logs what is wrong with a datagram.
func (s *server) bad(from netip.Addr, err error) {
	s.Drop(receivers.ReasonOf(err), 1)
	if ok, held := s.log.Allow(from, s.names.now); ok {
		s.cfg.Logger.Warn("lines: bad packet", "from", from, "err", err, "held_back_lines", held)
	}
}
