package graphite

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

const (
	// The buffer of a connection begins small, and grows when reads fill it.
	firstBuffer = 4 << 10
	lastBuffer  = 128 << 10
	// lengthBytes is how many bytes say how long a pickle is.
	lengthBytes = 4
)

var unpicklers = sync.Pool{New: func() any { return new(Unpickler) }}

// readPickles reads the pickles of one connection to its end: each has its length in front, four
// bytes, the highest first.
func (s *server) readPickles(ctx context.Context, conn *sockets.Conn) {
	c := s.newSource(conn.Host)
	buf := make([]byte, firstBuffer)
	held := s.held.Open(conn.Client())
	defer held.Close()
	kept := 0 // bytes of an unfinished pickle
	for {
		n, err := conn.Read(buf[kept:])
		full := kept+n == len(buf)
		c.begin()
		rest, wrong := c.pickles(ctx, buf[:kept+n])
		if wrong != nil {
			c.bad(wrong, rest)
			return
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
		// It grows with what has arrived, not with the length that was announced.
		if full && (len(buf) < lastBuffer || kept == len(buf)) {
			if more := 2 * len(buf); more > lastBuffer {
				if held.Charge(int64(more)) != nil {
					c.bad(&receivers.Error{Reason: receivers.Limit, What: "the pickles of all senders take too much memory"}, nil)
					return
				}
			}
			buf = append(make([]byte, 0, 2*len(buf)), buf...)
			buf = buf[:cap(buf)]
		}
	}
}

// pickles takes the whole pickles of text, and returns the rest. An error says that no further
// pickle can be found.
func (c *source) pickles(ctx context.Context, text []byte) (rest []byte, err *receivers.Error) {
	for len(text) >= lengthBytes {
		size := binary.BigEndian.Uint32(text)
		if size > MaxPickle {
			return text, &receivers.Error{Reason: receivers.Limit, What: "a pickle is longer than 1 MiB, or this is none"}
		}
		if int(size) > len(text)-lengthBytes {
			break
		}
		c.pickle(ctx, text[lengthBytes:][:size])
		text = text[lengthBytes+int(size):]
	}
	return text, nil
}

func (c *source) pickle(ctx context.Context, pickle []byte) {
	u := unpicklers.Get().(*Unpickler)
	defer unpicklers.Put(u)
	c.Packets.Add(1)
	take := func(p Point) { c.points = append(c.points, p) }
	bad := func(err *receivers.Error) { c.bad(err, nil) }
	if err := u.Unpickle(pickle, c.second, take, bad); err != nil {
		c.bad(err, pickle)
	}
	c.flush(ctx) // before another connection has the Unpickler, into which names may point
}
