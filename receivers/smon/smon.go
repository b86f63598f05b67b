package smon

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"sync"

	"github.com/rondo-db/rondo/internal/loglimit"
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
	flagStep  = receivers.StepFlag("smon", "10s")
	flagConns = receivers.NewConnFlags("smon", "a sender", "senders")
)

// settings is what the protocol's flags say.
type settings struct {
	files []string
	kinds kinds
	step  int64 // seconds
	tcp   sockets.TCPOptions
}

func configure(cfg receivers.Config) (s settings, err error) {
	s.files = cfg.OptionValues(flagFile)
	if s.kinds, err = parseKinds(cfg.OptionValues(flagKind)); err != nil {
		return settings{}, flagKind.Wrong(err)
	}
	if s.step, err = cfg.Step(flagStep); err != nil {
		return settings{}, err
	}
	s.tcp, err = flagConns.TCP(cfg)
	return s, err
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
