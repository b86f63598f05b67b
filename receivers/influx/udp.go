package influx

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is the line protocol over UDP.
var Protocol = receivers.Protocol{
	Name:    "influx",
	Title:   "InfluxDB's line protocol (over UDP it has no security: who can send can write any series)",
	Prefix:  prefix,
	Network: "udp",
	Usage:   "UDP `address` that lines of InfluxDB's protocol are sent to, usually with the port 8089 (default: off)",
	Flags:   []receivers.Flag{flagStep, flagDatabase},
	Default: define,
	Check:   func(c receivers.Config) error { _, err := c.Step(flagStep); return err },
	New:     newUDP,
}

var (
	flagStep     = receivers.LearnedStepFlag("influx")
	flagDatabase = receivers.Flag{
		Name: "influx-database", Usage: "`name` of the database, which becomes the label db of new series (default: no label)",
	}
)

// define returns the definition of a new series.
func define(c receivers.Config, step int64) *rra.Definition {
	own, _ := c.Step(flagStep) // Check says what is wrong
	return definition(own, step)
}

// definition returns the definition of a new series. own is the step that the flag names, step is
// the policy's; both are in seconds. 0: it names none.
func definition(own, step int64) *rra.Definition {
	if own == 0 {
		return receivers.LearnedDefinition(step)
	}
	return receivers.StandardDefinition(cmp.Or(step, own))
}

// A udpServer is the receiver over UDP. Only the goroutine of Serve uses its fields.
type udpServer struct {
	*intake
	*sockets.UDP
	queue  *receivers.Queue
	reader reader
	from   netip.Addr // who has sent the datagram at hand
	sender string     // from as a text
}

func newUDP(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	step, err := cfg.Step(flagStep)
	if err != nil {
		return nil, err
	}
	s := &udpServer{intake: newIntake(cfg, sink, step)}
	s.reader = reader{intake: s.intake, bad: s.bad}
	s.reader.src = source{database: []byte(cfg.Option(flagDatabase)), unit: Nanoseconds}
	s.UDP, err = sockets.ListenUDP(sockets.UDPOptions{Address: cfg.Address, Conn: cfg.PacketConn, Gather: cfg.Gather, Traffic: &s.Traffic})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve reads until ctx ends.
func (s *udpServer) Serve(ctx context.Context) error {
	s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	s.reader.out = s.queue
	defer s.queue.Stop()
	return s.UDP.Serve(ctx, s.queue.Flush, func(n int) { s.datagrams(ctx, n) })
}

// datagrams reads the n datagrams that have arrived.
func (s *udpServer) datagrams(ctx context.Context, n int) {
	r := &s.reader
	r.begin(s.cfg.Now())
	if s.queue.Stale() {
		s.forget(r.now)
	}
	for i := range n {
		if from := s.UDP.From(i).Addr(); from != s.from || s.sender == "" {
			s.from, s.sender = from, from.String()
		}
		r.src.sender = s.sender
		r.dec.Reset(s.UDP.Packet(i), r.src.unit, true)
		for !r.read() {
			s.resolve(ctx)
		}
	}
	if r.news.Ripe(s.UDP.Full(n), r.now) {
		s.resolve(ctx)
	}
}

// resolve resolves newcomers. What fails is counted and logged.
func (s *udpServer) resolve(ctx context.Context) { _ = s.reader.resolve(ctx) }

// bad logs why a line was not read, or a value not stored.
func (s *udpServer) bad(err error, _ int) {
	if ok, held := s.lines.Allow(s.sender, s.reader.now); ok {
		s.cfg.Logger.Warn("influx: not stored", "from", s.sender, "err", err, "held_back_lines", held)
	}
}
