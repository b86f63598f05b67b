package smon

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/streams"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is the smon compressed token stream.
var Protocol = receivers.Protocol{
	Name:    "smon",
	Title:   "smon's token streams",
	Network: "tcp",
	Usage:   "TCP `address` that smon token streams are sent to; the protocol has no usual port",
	Flags:   append([]receivers.Flag{flagFile, flagKind, flagStep}, flagConns.All()...),
	Enabled: streams.Enabled(flagFile),
	Default: func(c receivers.Config, step int64) *rra.Definition {
		s, _ := configure(c) // Check says what is wrong
		return define(rra.Gauge, cmp.Or(step, s.step))
	},
	Check: func(c receivers.Config) error { _, err := configure(c); return err },
	New:   newServer,
}

// A server is the receiver.
type server struct {
	streams.Server
	set  settings
	held *limit.Limit // bytes of memory that streams take, by address
	seed maphash.Seed // of the hashes of texts
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{set: set, seed: maphash.MakeSeed(), held: limit.New(maxHeld, maxHostHeld)}
	err = s.Open(cfg, sink, streams.Options{Protocol: "smon", Files: flagFile, TCP: set.tcp, Live: true})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve reads files and connections until ctx ends. It goes on when all files have been read.
func (s *server) Serve(ctx context.Context) error { return s.Read(ctx, s.handle) }

// skipBytes is how many bytes of an invalid stream are skipped before its connection is closed.
const skipBytes = 1 << 20

var errNonsense = errors.New("nothing but nonsense")

// handle reads one stream to its end.
func (s *server) handle(ctx context.Context, st *streams.Stream) {
	c := s.newSource(st)
	defer c.release()
	switch err := c.decode(ctx); {
	case errors.Is(err, errNonsense):
		c.closed("nothing but nonsense, the connection is closed")
	case errors.Is(err, sockets.ErrIdle):
		c.closed("sender is silent, its connection is closed")
	case c.Conn != nil:
	case errors.Is(err, io.EOF):
		s.Config.Logger.Info("smon: file has ended", "file", c.File)
	case ctx.Err() == nil:
		s.Config.Logger.Error("smon: file not read on", "file", c.File, "err", err)
	}
}

// closed logs why a connection is closed.
func (c *source) closed(why string) {
	c.s.Lines.Log(c.s.Config.Logger.Info, "closed "+c.Host, c.s.Config.Now(), "smon: "+why, "peer", c.Peer)
}
