package graphite

import (
	"context"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is carbon's plaintext protocol.
var Protocol = receivers.Protocol{
	Name:    prefix,
	Title:   "Graphite: what is sent to carbon (the protocol has no security)",
	Network: "tcp+udp",
	Usage:   "TCP and UDP `address` that lines for carbon are sent to, PATH VALUE TIME; 2003 is the usual port",
	Flags:   flags,
	Default: define,
	Check:   check,
	New:     newLines,
}

// Pickle is carbon's pickle protocol.
var Pickle = receivers.Protocol{
	Name:    "graphite-pickle",
	Title:   "Graphite: pickles for carbon (the settings are those of --graphite)",
	Prefix:  Protocol.Name,
	Network: "tcp",
	Usage:   "TCP `address` that pickles for carbon are sent to; 2004 is the usual port",
	Shares:  flags,
	Default: define,
	Check:   check,
	New:     newPickles,
}

func define(cfg receivers.Config, step int64) *rra.Definition {
	s, err := configure(cfg)
	if err != nil {
		s.schemas = &Schemas{}
	}
	return s.schemas.Define("", step)
}

func check(cfg receivers.Config) error {
	_, err := configure(cfg)
	return err
}

// A lineServer receives lines.
type lineServer struct {
	*server
	*sockets.Both
}

func newLines(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &lineServer{server: newServer(cfg, set, sink)}
	set.tcp.Traffic = &s.Traffic
	s.Both, err = sockets.ListenBoth(set.tcp, sockets.UDPOptions{Conn: cfg.PacketConn, Gather: cfg.Gather, Traffic: &s.Traffic})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve reads until ctx ends.
func (s *lineServer) Serve(ctx context.Context) error {
	s.queue = receivers.NewSharedQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	d := &datagrams{source: s.newSource(""), udp: s.Both.UDP()}
	return s.Both.Serve(ctx, s.readLines, func() {}, func(n int) { d.take(ctx, n) })
}

// A pickleServer receives pickles.
type pickleServer struct {
	*server
	*sockets.TCP
}

func newPickles(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &pickleServer{server: newServer(cfg, set, sink)}
	set.tcp.Traffic = &s.Traffic
	if s.TCP, err = sockets.ListenTCP(set.tcp); err != nil {
		return nil, err
	}
	return s, nil
}

// Serve reads until ctx ends.
func (s *pickleServer) Serve(ctx context.Context) error {
	s.queue = receivers.NewSharedQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	return s.TCP.Serve(ctx, s.readPickles)
}
