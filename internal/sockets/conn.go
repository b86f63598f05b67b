package sockets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/rondo-db/rondo/internal/foreign"
)

const (
	// how long a Write may take after the end of Serve's context
	lastWriteTime = time.Second
	// what has not arrived within so long after reading has ended is not read
	lastReadWait = 10 * time.Millisecond
	lastReadTime = 100 * time.Millisecond // and nothing after so long
)

// Errors of a Conn.
var (
	ErrIdle    = errors.New("peer has been silent for too long")
	ErrYielded = fmt.Errorf("%w, and another needs its place", ErrIdle)
	ErrStalled = errors.New("peer does not read what it is sent")
	ErrForeign = errors.New("peer speaks HTTP or TLS")
)

// A Conn is one connection. Read is for one goroutine at a time; Write is not to be called by two
// at once either.
//
// Read ends with ErrIdle when the peer is silent for too long: with ErrYielded, which is an ErrIdle
// too, where a new connection needed its place. It ends with ErrForeign, and returns nothing, when
// the connection begins as a browser's does. When the context of Serve has ended, it ends with the
// context's error. Whichever of these ends it but ErrForeign, Read returns first what the peer had
// sent by then.
//
// Write ends with ErrStalled when the peer does not read. How much of it the peer has got by then
// cannot be known: close the connection.
type Conn struct {
	net.Conn
	// Host is the peer's address without port, or Local.
	Host string
	// Peer names the peer: its Host for the first connection that it has open, then HOST#2, HOST#3,
	// …, the lowest that is free.
	Peer string

	ctx   context.Context
	t     *TCP
	place *Place
	set   time.Time // when the deadline of reading was set last
	why   error     // why reading ends; nil: it does not
	end   time.Time // when reading ends; set with why
	first foreign.Sniffer
}

// Read reads what the peer has sent, and counts it.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	c.t.o.Traffic.Bytes.Add(uint64(n))
	if c.first.Foreign(p[:n]) {
		c.t.o.Traffic.Foreign.Add(1)
		if ok, held := c.t.odd.Allow(struct{}{}, time.Now()); ok {
			c.t.o.Logger.Warn("a connection that speaks HTTP or TLS is closed", "from", c.Host, "held_back_lines", held)
		}
		return 0, ErrForeign
	}
	return n, err
}

func (c *Conn) read(p []byte) (int, error) {
	now := time.Now()
	c.place.Silent(now)
	defer c.place.Heard()
	if idle := c.t.o.Idle; idle > 0 && now.Sub(c.set) > idle/64 {
		c.set = now
		_ = c.SetReadDeadline(now.Add(idle + idle/64)) // else Read sees it closed
	}
	// It is asked only now: the deadline that an interrupt has set may just have been overwritten.
	if c.ends(nil) == nil {
		n, err := c.Conn.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		_ = c.ends(ErrIdle) // Read tells it when all is read
	}
	return c.readLast(p)
}

// ends returns why reading ends, which stays as it is once it is known: otherwise, or nil, unless
// the peer has lost its place or ctx has ended.
func (c *Conn) ends(otherwise error) error {
	if c.why != nil {
		return c.why
	}
	switch {
	case c.place.Yields():
		c.why = ErrYielded
	case c.ctx.Err() != nil:
		c.why = c.ctx.Err()
	default:
		c.why = otherwise
	}
	if c.why != nil {
		c.end = time.Now().Add(lastReadTime)
	}
	return c.why
}

// readLast reads what is there, reading having ended.
func (c *Conn) readLast(p []byte) (int, error) {
	for now := time.Now(); now.Before(c.end); now = time.Now() {
		until := now.Add(lastReadWait)
		_ = c.SetReadDeadline(until) // else Read sees it closed
		n, err := c.Conn.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if !time.Now().Before(until) {
			break
		} // else interrupt came late
	}
	c.end = time.Time{}
	return 0, c.why
}

// interrupt ends a Read that waits, and soon a Write, because ctx has ended.
func (c *Conn) interrupt() {
	c.place.Interrupt()
	_ = c.SetWriteDeadline(time.Now().Add(lastWriteTime))
}

// Write sends p.
func (c *Conn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.t.o.WriteTime)) // else Write sees it closed
	if c.ctx.Err() != nil {                                 // asked only now, as in Read
		_ = c.SetWriteDeadline(time.Now().Add(min(c.t.o.WriteTime, lastWriteTime)))
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrStalled
	}
	return n, err
}
