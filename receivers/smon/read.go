package smon

import (
	"context"
	"errors"
	"io"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

const (
	readBytes = 8 << 10 // bytes read at once
	skipBytes = 1 << 20 // bytes of an invalid stream, after which its connection is closed
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
	r := io.Reader(f)
	if f.wait {
		r = newWaiter(ctx, f.File)
	}
	buf := make([]byte, readBytes)
	for ctx.Err() == nil || f.wait {
		n, err := r.Read(buf)
		s.Bytes.Add(uint64(n))
		if n > 0 {
			c.feed(ctx, buf[:n])
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			s.cfg.Logger.Info("smon: file has ended", "file", f.Name())
		case ctx.Err() == nil:
			s.cfg.Logger.Error("smon: file not read on", "file", f.Name(), "err", err)
		}
		return
	}
}
