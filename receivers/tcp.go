package receivers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/foreign"
)

// The limits of a TCP listener where TCPOptions gives none.
const (
	DefaultConns     = 1000
	DefaultHostConns = 100
	DefaultIdle      = 10 * time.Minute
	DefaultWriteTime = 5 * time.Second
)

const (
	lastWriteTime = time.Second            // how long a Write may take after the end of Serve's context
	lastReadWait  = 10 * time.Millisecond  // what has not arrived within so long after that end is not read
	lastReadTime  = 100 * time.Millisecond // and nothing after so long
)

// Errors of a Conn.
var (
	ErrIdle    = errors.New("peer has been silent for too long")
	ErrStalled = errors.New("peer does not read what it is sent")
	ErrForeign = errors.New("peer speaks HTTP or TLS")
)

// TCPOptions says how connections are taken.
type TCPOptions struct {
	// Address is host:port.
	Address string
	// Listener, if not nil, is an open socket to use in place of Address.
	Listener net.Listener
	// Conns is how many connections there may be; 0: DefaultConns.
	Conns int
	// HostConns is how many one address may have; 0: DefaultHostConns.
	HostConns int
	// Idle is how long a peer may be silent; 0: DefaultIdle, negative: for ever.
	Idle time.Duration
	// WriteTime is how long one Write may take; 0: DefaultWriteTime.
	WriteTime time.Duration
	// Farewell is sent to a peer whose connection is refused.
	Farewell []byte
	// Counters, if not nil, has connections, bytes and those refused counted.
	Counters *Counters
	// Logger takes a line when connections are refused; nil: silent.
	Logger *slog.Logger
}

// TCP takes connections, a bounded number of them, and tells their peers apart.
type TCP struct {
	l     net.Listener
	o     TCPOptions
	c     *Counters
	lines LogLimit[netip.Addr]
	odd   foreign.Log

	mu    sync.Mutex                      // guards what follows
	hosts map[netip.Addr]map[int]struct{} // the numbers in use, from 1
	n     int
}

// A Conn is one connection. Its Read ends with ErrIdle when the peer is silent for too long, with ErrForeign, and nothing read, when
// it begins as a browser's does, and with the error of Serve's context when that has ended and what the peer had sent by then is read.
// Its Write ends with ErrStalled when the peer does not read, and what the peer has got by then is anyone's guess:
// close it. Read is for one goroutine at a time; Write is not to be called by two at once either.
type Conn struct {
	net.Conn
	// Host is the peer's address without port.
	Host string
	// Peer names the peer: its address for the first connection that it has open, then ADDR#2, ADDR#3, …,
	// the lowest that is free.
	Peer string

	ctx context.Context
	o   *TCPOptions
	set time.Time // when the deadline of reading was set last
	end time.Time // when reading ends because ctx has; zero: it has not
	c   *Counters

	first foreign.Sniffer
	odd   *foreign.Log
}

// ListenTCP opens a socket.
func ListenTCP(o TCPOptions) (*TCP, error) {
	if o.Conns <= 0 {
		o.Conns = DefaultConns
	}
	if o.HostConns <= 0 {
		o.HostConns = DefaultHostConns
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.WriteTime <= 0 {
		o.WriteTime = DefaultWriteTime
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	t := &TCP{l: o.Listener, o: o, c: o.Counters, hosts: make(map[netip.Addr]map[int]struct{})}
	if t.c == nil {
		t.c = new(Counters)
	}
	if t.l == nil {
		var err error
		if t.l, err = net.Listen("tcp", o.Address); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Addr is where it listens.
func (t *TCP) Addr() net.Addr { return t.l.Addr() }

// Close closes the socket that listens.
func (t *TCP) Close() error {
	if err := t.l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Serve takes connections until ctx ends, and calls handle for each in a goroutine of its own. It
// returns when all of those have returned; what they leave open is closed. Beyond ctx's end another
// error says why it cannot go on.
func (t *TCP) Serve(ctx context.Context, handle func(ctx context.Context, c *Conn)) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = t.l.Close() }) // Accept sees it
	defer stop()
	defer func() { _ = t.l.Close() }() // nothing was written
	pause := time.Duration(0)
	for {
		nc, err := t.l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = nc.Close() // it came too late
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept at %s: %w", t.Addr(), err)
		case err != nil: // out of files, or a peer that is gone: it passes
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			continue
		}
		pause = 0
		host, number, ok := t.enter(nc.RemoteAddr())
		if !ok {
			t.refuse(nc, host)
			continue
		}
		c := &Conn{Conn: nc, Host: host.String(), Peer: host.String(), ctx: ctx, o: &t.o, c: t.c, odd: &t.odd}
		if number > 1 {
			c.Peer += "#" + strconv.Itoa(number)
		}
		running.Go(func() {
			defer t.leave(host, number)
			defer func() { _ = c.Close() }() // what was to be written has been
			stop := context.AfterFunc(ctx, c.interrupt)
			defer stop()
			handle(ctx, c)
		})
	}
}

// refuse closes a connection that is one too many.
func (t *TCP) refuse(nc net.Conn, host netip.Addr) {
	t.c.Drop(Limit, 1)
	if ok, held := t.lines.Allow(host, time.Now()); ok {
		t.o.Logger.Warn("too many connections, one is refused", "from", host, "held_back_lines", held)
	}
	if len(t.o.Farewell) > 0 {
		// The buffer of a new socket has room: this does not wait.
		_ = nc.SetWriteDeadline(time.Now().Add(lastReadWait)) // then Write says so
		_, _ = nc.Write(t.o.Farewell)                         // it is closed either way
	}
	_ = nc.Close() // its peer sees that
}

// enter gives a connection its number, if there may be one more.
func (t *TCP) enter(a net.Addr) (host netip.Addr, number int, ok bool) {
	if tcp, is := a.(*net.TCPAddr); is {
		host = tcp.AddrPort().Addr().Unmap()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	used := t.hosts[host]
	if t.n >= t.o.Conns || len(used) >= t.o.HostConns {
		return host, 0, false
	}
	if used == nil {
		used = make(map[int]struct{})
		t.hosts[host] = used
	}
	number = 1
	for {
		if _, taken := used[number]; !taken {
			break
		}
		number++
	}
	used[number] = struct{}{}
	t.n++
	t.c.Connections.Add(1)
	return host, number, true
}

func (t *TCP) leave(host netip.Addr, number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n--
	t.c.Connections.Add(-1)
	if delete(t.hosts[host], number); len(t.hosts[host]) == 0 {
		delete(t.hosts, host)
	}
}

// Read reads what the peer has sent, and counts it.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	c.c.Bytes.Add(uint64(n))
	if c.first.Foreign(p[:n]) {
		c.c.Drop(Foreign, 1)
		if ok, held := c.odd.Allow(time.Now()); ok {
			c.o.Logger.Warn("a connection that speaks HTTP or TLS is closed", "from", c.Host, "held_back_lines", held)
		}
		return 0, ErrForeign
	}
	return n, err
}

func (c *Conn) read(p []byte) (int, error) {
	if now, idle := time.Now(), c.o.Idle; idle > 0 && now.Sub(c.set) > idle/64 {
		c.set = now
		_ = c.SetReadDeadline(now.Add(idle + idle/64)) // else Read sees it closed
	}
	if c.ctx.Err() == nil { // asked only now: interrupt's deadline may just have been overwritten
		n, err := c.Conn.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if c.ctx.Err() == nil {
			return n, ErrIdle
		}
	}
	return c.readLast(p)
}

// readLast reads what is there, ctx having ended.
func (c *Conn) readLast(p []byte) (int, error) {
	if c.end.IsZero() {
		c.end = time.Now().Add(lastReadTime)
	}
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
	c.end = time.Unix(1, 0)
	return 0, c.ctx.Err()
}

// interrupt ends a Read that waits, and soon a Write, because ctx has ended.
func (c *Conn) interrupt() {
	_ = c.SetReadDeadline(time.Unix(1, 0)) // else it is closed
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
