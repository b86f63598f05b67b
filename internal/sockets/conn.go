package sockets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/rondo-db/rondo/internal/foreign"
	"github.com/rondo-db/rondo/internal/loglimit"
)

const (
	// lastWriteTime is how long a Write may take after the end of Serve's context.
	lastWriteTime = time.Second
	// lastReadTime is how long Read goes on after reading has ended, at most. It tries lastReads
	// times at least: a busy machine may not let the process run for so long.
	lastReadTime = 100 * time.Millisecond
	lastReads    = 16
)

// Errors of a Conn.
var (
	ErrIdle    = errors.New("peer has been silent for too long")
	ErrYielded = fmt.Errorf("%w, and another needs its place", ErrIdle)
	ErrStalled = errors.New("peer does not read what it is sent")
	ErrForeign = errors.New("peer speaks HTTP or TLS")
)

// A Conn is one connection. One goroutine at a time may call Read, and one at a time Write.
//
// Read returns one of these errors, once it has returned the bytes that the peer had sent before:
//   - ErrIdle: the peer was silent for too long.
//   - ErrYielded, which is an ErrIdle too: the peer was silent and a new connection has its place.
//   - the error of Serve's context: the context has ended.
//
// If the connection begins with HTTP or TLS, Read returns ErrForeign and none of the bytes.
//
// Write returns ErrStalled if the peer does not read. Close the connection then: the peer may have
// received any part of the bytes.
type Conn struct {
	net.Conn
	// Host is the peer's address without port, or Local.
	Host string
	// Peer names the peer: its Host for the first connection that it has open, then HOST#2, HOST#3,
	// …, the lowest that is free.
	Peer string

	ctx   context.Context
	o     *TCPOptions
	odd   *loglimit.Limit[struct{}] // of lines about connections that speak HTTP or TLS
	place *Place
	set   time.Time // when the read deadline was set last
	why   error     // why reading ends; nil: it goes on
	end   time.Time // when reading ends; set with why
	tries int       // reads since why was set
	in    *Input    // reads after why was set; nil: none did yet
	first foreign.Sniffer
}

// Client returns the client whose share the connection counts against: Local, or the result of
// [Client].
func (c *Conn) Client() string { return c.place.Client }

// Read reads what the peer has sent, and counts the bytes in Traffic.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	c.o.Traffic.Bytes.Add(uint64(n))
	if c.first.Foreign(p[:n]) {
		c.o.Traffic.Foreign.Add(1)
		c.odd.Log(c.o.Logger.Warn, struct{}{}, time.Now(), "a connection that speaks HTTP or TLS is closed", "from", c.Host)
		return 0, ErrForeign
	}
	return n, err
}

func (c *Conn) read(p []byte) (int, error) {
	now := time.Now()
	c.place.Silent(now)
	defer c.place.Heard()
	if idle := c.o.Idle; idle > 0 && now.Sub(c.set) > idle/64 {
		c.set = now
		_ = c.SetReadDeadline(now.Add(idle + idle/64)) // else Read sees it closed
	}
	// Ask only now: an interrupt may have set a deadline, which was then overwritten above.
	if c.ends(nil) == nil {
		n, err := c.Conn.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		_ = c.ends(ErrIdle) // readLast returns the error when all is read
	}
	return c.readLast(p)
}

// ends decides whether and why reading ends, and returns the reason. The first reason stays. If the
// peer still has its place and ctx has not ended, the reason is otherwise, which may be nil.
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

// readLast reads bytes that have arrived although reading has ended, then returns c.why.
func (c *Conn) readLast(p []byte) (int, error) {
	if c.tries >= lastReads && !time.Now().Before(c.end) {
		return 0, c.why
	}
	c.tries++
	if c.in == nil {
		in, err := NewInput(c.Conn)
		if err != nil {
			return 0, err
		}
		c.in = in
	}
	n, err := c.in.ReadLast(p)
	if errors.Is(err, os.ErrDeadlineExceeded) { // nothing is left
		c.tries, c.end = lastReads, time.Time{}
		err = c.why
	}
	return n, err
}

// interrupt ends a waiting Read at once and a waiting Write soon. It is called when ctx has ended.
func (c *Conn) interrupt() {
	c.place.Interrupt()
	_ = c.SetWriteDeadline(time.Now().Add(lastWriteTime))
}

// Write sends p.
func (c *Conn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.o.WriteTime)) // else Write sees it closed
	if c.ctx.Err() != nil {                               // asked only now, as in Read
		_ = c.SetWriteDeadline(time.Now().Add(min(c.o.WriteTime, lastWriteTime)))
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrStalled
	}
	return n, err
}
