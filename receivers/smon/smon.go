package smon

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is the smon compressed token stream.
var Protocol = receivers.Protocol{
	Name:    "smon",
	Network: "tcp",
	Usage:   "TCP `address` that smon token streams are sent to; the protocol has no usual port",
	Flags:   []receivers.Flag{flagFile, flagKind, flagStep, flagIdle, flagConns, flagHostConns},
	Enabled: func(c receivers.Config) bool { return c.Address != "" || len(c.OptionValues(flagFile)) > 0 },
	Default: func(c receivers.Config, step int64) *rra.Definition {
		if s, err := configure(c); err == nil && step == 0 {
			step = s.step
		}
		return define(rra.Gauge, step)
	},
	Check: func(c receivers.Config) error { _, err := configure(c); return err },
	New:   newServer,
}

var (
	flagFile = receivers.Flag{
		Name: "smon-file", Repeat: true,
		Usage: "`file` or pipe with a token stream, to be read to its end; - is standard input",
	}
	flagKind = receivers.Flag{
		Name: "smon-kind", Repeat: true,
		Usage: "kind of new series by name, as `glob=kind`: 'linux.cpu.*=DERIVE' (default: GAUGE)",
	}
	flagStep = receivers.Flag{
		Name: "smon-step", Default: "10s",
		Usage: "`step` of new series",
	}
	flagIdle = receivers.Flag{
		Name: "smon-idle", Default: "10m",
		Usage: "close the connection of a sender that is silent for this `time`; 0: never",
	}
	flagConns = receivers.Flag{
		Name: "smon-connections", Default: strconv.Itoa(sockets.DefaultConns),
		Usage: "the largest `number` of senders",
	}
	flagHostConns = receivers.Flag{
		Name: "smon-host-connections", Default: strconv.Itoa(sockets.DefaultHostConns),
		Usage: "the largest `number` of senders of one address",
	}
)

// settings is what the protocol's flags say.
type settings struct {
	files            []string
	kinds            kinds
	step             int64 // seconds
	idle             time.Duration
	conns, hostConns int
}

func configure(cfg receivers.Config) (s settings, err error) {
	wrong := func(f receivers.Flag, err error) (settings, error) {
		return settings{}, fmt.Errorf("--%s: %w", f.Name, err)
	}
	s.files = cfg.OptionValues(flagFile)
	if s.kinds, err = parseKinds(cfg.OptionValues(flagKind)); err != nil {
		return wrong(flagKind, err)
	}
	if s.step, err = receivers.ParseStep(cfg.Option(flagStep)); err != nil {
		return wrong(flagStep, err)
	}
	if s.idle, err = receivers.ParseDuration(cfg.Option(flagIdle)); err != nil || s.idle < 0 {
		return wrong(flagIdle, fmt.Errorf("%q is no time such as 10m", cfg.Option(flagIdle)))
	}
	if s.idle == 0 {
		s.idle = -1
	}
	for f, n := range map[*receivers.Flag]*int{&flagConns: &s.conns, &flagHostConns: &s.hostConns} {
		if *n, err = strconv.Atoi(cfg.Option(*f)); err != nil || *n < 1 {
			return wrong(*f, fmt.Errorf("%q is no number above 0", cfg.Option(*f)))
		}
	}
	return s, nil
}

// A server is the receiver.
type server struct {
	receivers.Counters
	cfg   receivers.Config
	set   settings
	sink  receivers.Sink
	tcp   *sockets.TCP // nil: only files are read
	files []*file
	queue *receivers.SharedQueue // of all connections
	held  ledger
	seed  maphash.Seed // of the hashes of texts
	lines loglimit.Limit[string]
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{
		cfg: cfg, set: set, sink: sink, seed: maphash.MakeSeed(), held: ledger{most: maxHeld, hostMost: maxHostHeld},
	}
	if s.files, err = openFiles(set.files); err != nil {
		return nil, fmt.Errorf("--%s: %w", flagFile.Name, err)
	}
	if cfg.Address == "" && cfg.Listener == nil {
		return s, nil
	}
	s.tcp, err = sockets.ListenTCP(sockets.TCPOptions{
		Address: cfg.Address, Listener: cfg.Listener, Conns: set.conns, HostConns: set.hostConns, Idle: set.idle, Yield: cfg.Yield,
		Traffic: &s.Traffic, Logger: cfg.Logger,
	})
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

// Serve reads files and connections until ctx ends; that files have ended changes nothing.
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

const (
	readBytes = 8 << 10 // read at once
	skipBytes = 1 << 20 // of a stream that makes no sense; then its connection is closed
)

// handle reads one connection to its end.
func (s *server) handle(ctx context.Context, conn *sockets.Conn) {
	c := s.newSource(conn.Peer, conn.Host)
	defer c.release()
	buf := make([]byte, readBytes)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			c.feed(ctx, buf[:n])
		}
		if skipped, _ := c.dec.Skipped(); skipped > skipBytes {
			c.closed("nothing but nonsense, the connection is closed")
			return
		}
		if err != nil {
			if errors.Is(err, sockets.ErrIdle) {
				c.closed("sender is silent, its connection is closed")
			}
			return
		}
	}
}

// closed logs why a connection is.
func (c *source) closed(why string) {
	if ok, held := c.s.lines.Allow("closed "+c.host, c.s.cfg.Now()); ok {
		c.s.cfg.Logger.Info("smon: "+why, "peer", c.peer, "held_back_lines", held)
	}
}
