package graphite

import (
	"bytes"
	"context"
	"errors"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

// readLines reads the lines of one connection to its end.
func (s *server) readLines(ctx context.Context, conn *sockets.Conn) {
	c := s.newSource(conn.Host)
	take := func(text []byte) { c.lines(ctx, text) }
	long := func(text []byte) { c.bad(errLong, text) }
	rest, err := sockets.ReadLines(conn, MaxLine, take, long)
	if rest > 0 {
		s.Drop(receivers.Truncated, 1) // connections break: no line for it
	}
	switch {
	case errors.Is(err, sockets.ErrEndless):
		c.closed("a line without end, the connection is closed")
	case errors.Is(err, sockets.ErrIdle):
		c.closed("sender is silent, its connection is closed")
	}
}

// lines takes lines, each with its line feed.
func (c *source) lines(ctx context.Context, text []byte) {
	c.begin()
	n := uint64(0)
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		c.line(text[:end])
		text = text[end+1:]
		n++
	}
	c.Packets.Add(n)
	c.flush(ctx)
}

func (c *source) line(line []byte) {
	p, err := ParseLine(line, c.second)
	if err == nil {
		c.points = append(c.points, p)
	} else if !blank(line) {
		c.bad(err, line)
	}
}

// Datagrams are the points of datagrams on their way to the sink.
type datagrams struct {
	*source
	udp *sockets.UDP
}

// take reads the n datagrams that have arrived.
func (d *datagrams) take(ctx context.Context, n int) {
	d.begin()
	for i := range n {
		d.host = ""
		from := d.udp.From(i).Addr()
		for text := range bytes.SplitSeq(d.udp.Packet(i), []byte("\n")) {
			p, err := ParseLine(text, d.second)
			if err == nil {
				d.points = append(d.points, p)
			} else if !blank(text) {
				d.host = from.String() // whom the log names
				d.bad(err, text)
			}
		}
		d.marks = append(d.marks, mark{end: len(d.points), from: from})
	}
	d.host = ""
	d.flush(ctx)
	d.marks = d.marks[:0]
}

// shownBytes is how much of a bad line is logged.
const shownBytes = 100

// bad counts and logs what is wrong with a line or a pickle.
func (c *source) bad(err *receivers.Error, text []byte) {
	c.Drop(err.Reason, 1)
	if ok, held := c.logs.Allow(c.host, c.now); ok {
		c.cfg.Logger.Warn("graphite: bad line or pickle", "from", c.host, "err", err, "begins", string(text[:min(len(text), shownBytes)]), "held_back_lines", held)
	}
}

// closed logs why a connection is closed.
func (c *source) closed(why string) {
	c.logs.Log(c.cfg.Logger.Info, "closed "+c.host, c.cfg.Now(), "graphite: "+why, "from", c.host)
}
