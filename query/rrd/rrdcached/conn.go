package rrdcached

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
)

// A connection is served by one goroutine. It reads what has arrived, puts the samples of it into a
// group, and hands that to the engine; while the disk is at it, it reads on, as long as there is
// something. Answers are written in the order of the requests, once the group that they belong to
// is durable.

// The sizes of what a connection holds.
const (
	smallBuffer = 16 << 10  // of requests; more than one of MaxLine
	largeBuffer = 256 << 10 // of a connection that fills the small one
	maxFlight   = 3         // groups on their way to the disk
	answerBytes = 64 << 10  // answers that are written at once
)

// A conn is one connection.
type conn struct {
	s     *Server
	ctx   context.Context
	nc    net.Conn
	in    *input
	allow Commands

	buf        []byte // what was read
	from, to   int    // the part that was not looked at
	large      bool   // buf is one of few
	group      *group // is being filled; nil: there is none
	flight     []*group
	out        []byte // answers
	last       *entry
	renames    uint64
	drops      uint64 // of the cache, when nothing was on its way
	unknown    []postponed
	waiting    map[string]struct{} // names of unknown
	batch      int                 // the number of the last request of a BATCH plus one; 0: outside
	errors     [][]byte            // of the BATCH: lines
	errorBytes int                 // in them
	failures   int                 // lines in errors
	unlisted   int                 // further ones
	creates    []creating          // requests that are carried out side by side
	created    map[string]struct{} // paths of these
	fetches    []fetching          // requests that are read together
	values     []float64           // of these
	headed     int                 // bytes of the head of an answer with rows
	wrote      bool                // some answers were written
	sniffed    bool                // the first bytes are those of a client
	charged    int64               // bytes of rows of answers: see room
	patience   time.Duration       // how long the peer may take to read, as things are
	endBy      time.Time           // when writing ends because ctx has; zero: it has not
	place      *sockets.Place
	counts     [numCommands]count
	closing    bool      // nothing more is looked at
	ended      bool      // the server's end has been seen
	readUntil  time.Time // the deadline of reading
	peer       string
	// whose share of places and room it takes: the address of the peer, or its network of 64 bits
	// of IPv6
	host string
}

// A count is how often a command was asked for, and answered with an error.
type count struct{ requests, errors uint64 }

// A postponed is an UPDATE of a series that is yet to be made.
type postponed struct {
	slot int
	raw  []byte
	r    request
}

// room makes room to read into.
func (c *conn) room() {
	if c.buf == nil {
		c.buf = c.s.small.get()
	}
	if c.from > 0 {
		c.to = copy(c.buf, c.buf[c.from:c.to])
		c.from = 0
	}
}

// grow takes a large buffer, if there is one for this connection.
func (c *conn) grow() {
	select {
	case c.s.large <- struct{}{}:
	default:
		return
	}
	p := c.s.big.get()
	c.from, c.to = 0, copy(p, c.buf[c.from:c.to])
	c.s.small.put(c.buf)
	c.buf, c.large = p, true
}

// shrink gives buffers back while there is nothing in them.
func (c *conn) shrink() {
	if c.large {
		c.s.big.put(c.buf)
		<-c.s.large
	} else if c.buf != nil {
		c.s.small.put(c.buf)
	}
	c.buf, c.large = nil, false
}

// release gives back what the connection holds.
func (c *conn) release() {
	c.count()
	c.uncharge()
	c.dropErrors()
	c.shrink()
}

// deadline gives the peer its time.
func (c *conn) deadline() {
	now := time.Now()
	if idle := c.s.o.Idle; idle > 0 && c.readUntil.Sub(now) < idle-idle/64 {
		c.readUntil = now.Add(idle)
		_ = c.nc.SetReadDeadline(c.readUntil) // else the next read says so
	}
	// asked only now: its deadline may just have been overwritten
	if c.ctx.Err() != nil || c.place.Yields() {
		c.place.Interrupt()
	}
}

// interrupt ends a read that waits, and soon a write, because the server ends.
func (c *conn) interrupt() {
	c.place.Interrupt()
	_ = c.nc.SetWriteDeadline(time.Now().Add(lastTime)) // else the write says so
}

// slot adds a request to the group, with its answer if it is known.
func (c *conn) slot(answer string) {
	if c.group == nil {
		c.group = c.s.group()
	}
	g := c.group
	n := len(g.slots)
	if n == cap(g.slots) {
		g.slots = slices.Grow(g.slots, 64)
	}
	g.slots = g.slots[:n+1]
	g.slots[n].answer = answer
	g.slots[n].number = c.number()
	g.cur = n
	g.size += len(answer)
}

// number is that of the request at hand in its BATCH, or -1.
func (c *conn) number() int32 { return int32(c.batch - 1) }

// fail answers a request with an error, when those before it are answered.
func (c *conn) fail(cmd *command, text string) {
	c.counts[cmd.id].errors++
	c.slot(failure(text))
}

// readRate is how many bytes a second a peer must read of what it is sent, once its patience is
// used up.
const readRate = 64 << 10

// patienceAfter returns what is left of a patience, which is most at first, when n bytes took the
// peer so long.
func patienceAfter(left, most, took time.Duration, n int) time.Duration {
	return min(most, left-took+time.Duration(n)*time.Second/readRate)
}

// flush writes the answers. A peer that does not read them in time is given up: the time is for all
// it is sent until it has read everything, so that one who reads a little now and then does not
// keep memory and places for as long as it likes.
func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	began := time.Now()
	_ = c.nc.SetWriteDeadline(began.Add(c.patience)) // else the write says so
	// asked only now: interrupt's deadline may just have been overwritten
	if c.ctx.Err() != nil {
		if c.endBy.IsZero() {
			c.endBy = began.Add(lastTime)
		}
		_ = c.nc.SetWriteDeadline(c.endBy)
	}
	n, err := c.nc.Write(c.out)
	c.patience = patienceAfter(c.patience, c.s.o.WriteTime, time.Since(began), n)
	if err == nil && c.patience <= 0 {
		err = os.ErrDeadlineExceeded
	}
	c.out = c.out[:0]
	c.wrote = true
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.s.stats.stalled.Add(1)
		}
		c.closing = true
	}
	return err
}

// charge has the connection hold n bytes for an answer, in place of what it held. If they are not
// free it sends what can be sent, and waits.
func (c *conn) charge(n int64) error {
	if n <= freeAnswer || n <= c.charged {
		return nil
	}
	c.uncharge()
	r := c.s.room
	if ok, _ := r.try(c.host, n); ok {
		c.charged = n
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	if err := r.take(c.ctx, c.host, n); err != nil {
		return err
	}
	c.charged = n
	return nil
}

// uncharge gives back what the connection holds.
func (c *conn) uncharge() {
	c.values = nil
	if c.charged > 0 {
		c.s.room.give(c.host, c.charged)
		c.charged = 0
	}
}

// count adds what the connection counted to the server's counters.
func (c *conn) count() {
	for i := range c.counts {
		if n := &c.counts[i]; n.requests+n.errors > 0 {
			c.s.stats.requests[i].Add(n.requests)
			c.s.stats.errors[i].Add(n.errors)
			*n = count{}
		}
	}
}
