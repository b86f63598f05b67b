package statsd

import (
	"bytes"
	"context"
	"errors"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

// read reads the lines of one connection to its end.
func (s *server) read(_ context.Context, conn *sockets.Conn) {
	c := &source{server: s, host: conn.Host}
	long := func(text []byte) { c.bad(errLong, text) }
	rest, err := sockets.ReadLines(conn, MaxLine, c.stream, long)
	if rest > 0 {
		s.Drop(receivers.Truncated, 1) // connections break: no line for it
	}
	switch {
	case errors.Is(err, sockets.ErrEndless):
		c.closed("a line without end, the connection is closed")
	case errors.Is(err, sockets.ErrIdle):
		c.closed("client is silent, its connection is closed")
	}
}

// stream takes lines of a connection, each with its line feed.
func (c *source) stream(text []byte) {
	c.now = c.cfg.Now().Unix()
	c.Packets.Add(uint64(bytes.Count(text, []byte{'\n'})))
	c.lines(text)
}

// datagrams reads the n datagrams that have arrived.
func (s *server) datagrams(n int) {
	c := source{server: s, now: s.cfg.Now().Unix()}
	for i := range n {
		c.addr = s.Both.UDP().From(i).Addr()
		c.lines(s.Both.UDP().Packet(i))
	}
}

// lines takes lines. The last need not have a line feed.
func (c *source) lines(text []byte) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) == 0 {
			continue
		}
		c.line(line)
		if c.taken != nil {
			c.taken()
		}
	}
}

func (c *source) line(line []byte) {
	c.metrics.mu.Lock()
	defer c.metrics.mu.Unlock()
	err := ParseLine(line, func(r Reading) {
		if err := c.metrics.add(&r, c.now, c.sender); err != nil {
			c.bad(err, line)
		}
	})
	if err != nil {
		c.bad(err, line)
	}
}

// shownBytes is how much of a bad line is logged.
const shownBytes = 100

// bad counts and logs what is wrong with a line.
func (c *source) bad(err error, line []byte) {
	c.Drop(receivers.ReasonOf(err), 1)
	if ok, held := c.logs.Allow(c.sender(), c.cfg.Now()); ok {
		c.cfg.Logger.Warn("statsd: bad line", "from", c.sender(), "err", err, "begins", string(line[:min(len(line), shownBytes)]), "held_back_lines", held)
	}
}

// closed logs why a connection is closed.
func (c *source) closed(why string) {
	c.logs.Log(c.cfg.Logger.Info, "closed "+c.host, c.cfg.Now(), "statsd: "+why, "from", c.host)
}
