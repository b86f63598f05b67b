// Package lines receives lines of text over UDP. It is the example of docs/adding-a-receiver.md, as
// small as a whole receiver can be, and not in the server's list of protocols.
package lines

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/rondo-db/rondo/engine/core"
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

const (
	maxSeries    = 1 << 20 // references that are kept; then they are forgotten, and resolved again
	maxNewcomers = 8192    // lines that wait for their series; then these are resolved
)

// A server is the receiver. All of it but the counters belongs to the goroutine of Serve.
type server struct {
	receivers.Counters
	cfg   receivers.Config
	sink  receivers.Sink
	step  int64
	udp   *sockets.UDP
	queue *receivers.Queue

	series map[string]series // by the name in a line
	news   []newcomer
	pause  receivers.Pause // while it lasts newcomers are dropped
	now    time.Time       // when the datagrams at hand were read
	value  [1]rra.Value
	log    loglimit.Limit[netip.Addr]
}

// A series is where the values of a name go, or why there is no series.
type series struct {
	ref   core.Ref
	why   receivers.Reason // ref is 0: values are dropped for this reason
	retry time.Time        // until then
}

// A newcomer is a line whose name has no reference yet.
type newcomer struct {
	name, sender string
	at           rra.Time
	value        float64
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	step, err := cfg.Step(flagStep)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, sink: sink, step: step, series: make(map[string]series)}
	s.udp, err = sockets.ListenUDP(sockets.UDPOptions{Address: cfg.Address, Conn: cfg.PacketConn, Traffic: &s.Traffic})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Addr is where it listens.
func (s *server) Addr() net.Addr { return s.udp.Addr() }

// Close closes the socket.
func (s *server) Close() error { return s.udp.Close() }

// Serve reads until ctx ends.
func (s *server) Serve(ctx context.Context) error {
	s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	return s.udp.Serve(ctx, s.queue.Flush, func(n int) { s.take(ctx, n) })
}

// take reads the n datagrams that have arrived.
func (s *server) take(ctx context.Context, n int) {
	s.now = s.cfg.Now()
	if s.queue.Stale() || len(s.series) > maxSeries {
		clear(s.series)
	}
	for i := range n {
		from := s.udp.From(i).Addr()
		if err := Decode(s.udp.Packet(i), func(l Line) { s.line(from, l) }); err != nil {
			s.bad(from, err)
		}
		if len(s.news) >= maxNewcomers {
			s.resolve(ctx)
		}
	}
	s.resolve(ctx) // all together: one wait for the store instead of one a series
	s.Series.Store(int64(len(s.series)))
}

// line takes one line.
func (s *server) line(from netip.Addr, l Line) {
	if l.Time < rra.Seconds(2) || l.Time > s.cfg.Latest(s.now) {
		s.Drop(receivers.State, 1)
		return
	}
	x, known := s.series[string(l.Name)]
	switch {
	case x.ref != 0:
		s.add(x.ref, l.Time, l.Value)
	case known && s.now.Before(x.retry):
		s.Drop(x.why, 1)
	default:
		s.news = append(s.news, newcomer{name: string(l.Name), sender: from.String(), at: l.Time, value: l.Value})
	}
}

// add hands a value over as a sample.
func (s *server) add(ref core.Ref, at rra.Time, value float64) {
	s.value[0] = rra.Float(value)
	s.queue.Add(ref, at, s.value[:])
}

// bad counts and logs what is wrong with a datagram.
func (s *server) bad(from netip.Addr, err error) {
	s.Drop(receivers.ReasonOf(err), 1)
	if ok, held := s.log.Allow(from, s.now); ok {
		s.cfg.Logger.Warn("lines: bad packet", "from", from, "err", err, "held_back_lines", held)
	}
}
