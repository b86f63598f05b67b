package smon

import (
	"context"
	"errors"
	"io"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

// skipBytes is how many bytes of an invalid stream are skipped before its connection is closed.
const skipBytes = 1 << 20

var errNonsense = errors.New("nothing but nonsense")

// handle reads one connection to its end.
func (s *server) handle(ctx context.Context, conn *sockets.Conn) {
	c := s.newSource(conn.Peer, conn.Host)
	defer c.release()
	switch err := c.decode(ctx, conn); {
	case errors.Is(err, errNonsense):
		c.closed("nothing but nonsense, the connection is closed")
	case errors.Is(err, sockets.ErrIdle):
		c.closed("sender is silent, its connection is closed")
	}
}

// closed logs why a connection is closed.
func (c *source) closed(why string) {
	c.s.lines.Log(c.s.cfg.Logger.Info, "closed "+c.host, c.s.cfg.Now(), "smon: "+why, "peer", c.peer)
}

// readFile reads a file to its end, or until ctx ends. It waits for the store and sheds nothing.
func (s *server) readFile(ctx context.Context, f *file) {
	defer f.close()
	c := s.newSource(f.peer, f.peer)
	defer c.release()
	c.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	defer c.queue.Stop()
	f.ctx, f.read = ctx, &s.Bytes
	switch err := c.decode(ctx, f); {
	case errors.Is(err, io.EOF):
		s.cfg.Logger.Info("smon: file has ended", "file", f.Name())
	case ctx.Err() == nil:
		s.cfg.Logger.Error("smon: file not read on", "file", f.Name(), "err", err)
	}
}
