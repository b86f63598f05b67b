package graphite

import (
	"bytes"
	"context"
	"errors"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

const (
	// The buffer of a connection begins small, and grows when reads fill it.
	firstBuffer = 4 << 10
	lastBuffer  = 128 << 10
	// skipBytes is how much of one endless line is read before its connection is closed.
	skipBytes = 1 << 20
)

// readLines reads the lines of one connection to its end.
func (s *server) readLines(ctx context.Context, conn *sockets.Conn) {
	c := s.newSource(conn.Host)
	buf := make([]byte, firstBuffer)
	kept, skipped := 0, 0 // bytes of an unfinished line: in buf, or left out because it is too long
	for {
		n, err := conn.Read(buf[kept:])
		full := kept+n == len(buf)
		text := buf[:kept+n]
		if skipped > 0 && n > 0 {
			if text = c.resume(text, &skipped); skipped > skipBytes {
				c.closed("a line without end, the connection is closed")
				return
			}
		}
		rest := c.lines(ctx, text)
		if len(rest) > MaxLine {
			c.bad(errLong, rest)
			rest, skipped = nil, len(rest)
		}
		kept = copy(buf, rest)
		if err != nil {
			if kept > 0 {
				s.Drop(receivers.Truncated, 1) // connections break: no line for it
			}
			if errors.Is(err, sockets.ErrIdle) {
				c.closed("sender is silent, its connection is closed")
			}
			return
		}
		if full && len(buf) < lastBuffer {
			buf = append(make([]byte, 0, 2*len(buf)), buf...)
			buf = buf[:cap(buf)]
		}
	}
}

// resume returns what follows the end of a line that is too long. skipped counts the bytes of that
// line; 0: it has ended.
func (c *source) resume(text []byte, skipped *int) []byte {
	_, after, ok := bytes.Cut(text, []byte{'\n'})
	if !ok {
		*skipped += len(text)
		return nil
	}
	*skipped = 0
	return after
}

// lines takes the whole lines of text, and returns the rest.
func (c *source) lines(ctx context.Context, text []byte) (rest []byte) {
	c.begin()
	lines := uint64(0)
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			break
		}
		c.line(text[:end])
		text = text[end+1:]
		lines++
	}
	c.Packets.Add(lines)
	c.flush(ctx)
	return text
}

// line takes one line.
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
	if ok, held := c.logs.Allow("closed "+c.host, c.cfg.Now()); ok {
		c.cfg.Logger.Info("graphite: "+why, "from", c.host, "held_back_lines", held)
	}
}
