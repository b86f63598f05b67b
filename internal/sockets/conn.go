package sockets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
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

// Local is the host of a connection to a unix socket, whose peer has no address.
const Local = "unix"

// Address returns the IP address of a peer. An IPv4 address is returned as one, even if the socket
// is one for IPv6. The address is not valid if the peer has none, as on a unix socket.
func Address(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// Client returns the client that an address is counted as where clients have shares: the address
// itself for IPv4, its network of 64 bits for IPv6, because one host usually has such a network to
// itself.
func Client(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		return netip.PrefixFrom(a, 64).Masked().String()
	}
	return a.String()
}

// ClientOf returns the client of a remote address with a port, as net/http has it. What is no such
// address is its own client.
func ClientOf(remote string) string {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	return Client(a.Addr())
}

// lastReadWait is how long more may arrive after reading has ended.
const lastReadWait = 10 * time.Millisecond

// ReadLast reads bytes that have arrived although reading has ended. If there are no bytes yet, it
// waits for them for 10 ms. It returns os.ErrDeadlineExceeded if none have arrived by then.
//
// The first and the last read do not wait and need no deadline, because a busy machine may let one
// pass before it reads.
func (in *Input) ReadLast(p []byte) (int, error) {
	n, err := in.readBy(p, time.Time{}, false)
	if n > 0 || err != nil {
		return n, err
	}
	n, err = in.readBy(p, time.Now().Add(lastReadWait), true)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	n, err = in.readBy(p, time.Time{}, false)
	if n == 0 && err == nil {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// readBy reads with the deadline until; zero: none. It sets the deadline again if an interrupt has
// overwritten it.
func (in *Input) readBy(p []byte, until time.Time, wait bool) (n int, err error) {
	for range 3 { // the server ends once, and another takes the place once
		_ = in.conn.SetReadDeadline(until) // on an error the read fails too
		n, err = in.Read(p, wait)
		if !errors.Is(err, os.ErrDeadlineExceeded) || wait && !time.Now().Before(until) {
			break
		}
	}
	return n, err
}

const (
	// The buffer of a stream of lines begins small, and grows when reads fill it.
	firstLines = 4 << 10
	lastLines  = 128 << 10
	// endless is how many bytes of a line that is too long are skipped.
	endless = 1 << 20
)

// ErrEndless is the error of ReadLines where a line does not end.
var ErrEndless = errors.New("a line does not end")

// ReadLines reads r to its end. It calls take with the whole lines that have arrived, each with its
// line feed; the bytes are valid until take returns. It calls long with the beginning of a line
// that is not finished and longer than most bytes, which must be less than 64 KiB, and skips the
// line. rest is the length of what was read of an unfinished line. The error comes from r, or is
// ErrEndless; it is not nil.
func ReadLines(r io.Reader, most int, take, long func(text []byte)) (rest int, err error) {
	buf := make([]byte, firstLines)
	kept, skipped := 0, 0 // bytes of an unfinished line: in buf, or skipped
	for {
		n, err := r.Read(buf[kept:])
		full := kept+n == len(buf)
		text := buf[:kept+n]
		if skipped > 0 {
			_, after, ended := bytes.Cut(text, []byte{'\n'})
			if skipped += len(text); skipped > endless && !ended {
				return 0, ErrEndless
			}
			if text = after; ended {
				skipped = 0
			}
		}
		whole := bytes.LastIndexByte(text, '\n') + 1
		if whole > 0 {
			take(text[:whole])
		}
		left := text[whole:]
		if len(left) > most {
			long(left)
			left, skipped = nil, len(left)
		}
		kept = copy(buf, left)
		if err != nil {
			return kept, err
		}
		if full && len(buf) < lastLines {
			buf = append(make([]byte, 0, 2*len(buf)), buf...)
			buf = buf[:cap(buf)]
		}
	}
}

// Traffic counts what arrives at sockets. The zero value is ready; it may be used concurrently.
type Traffic struct {
	Packets       atomic.Uint64 // datagrams; receivers of streams count their messages here
	Bytes         atomic.Uint64 // bytes in them
	KernelDropped atomic.Uint64 // datagrams lost because the socket's buffer was full
	Connections   atomic.Int64  // connections that are open now
	Refused       atomic.Uint64 // connections closed at once because all places were taken
	Foreign       atomic.Uint64 // connections closed because they spoke HTTP or TLS
}
