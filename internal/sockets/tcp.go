package sockets

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
)

// TCP listens for connections, bounds their number, and gives each peer a name.
type TCP struct {
	l      net.Listener
	o      TCPOptions
	places *Places
	lines  loglimit.Limit[string]   // by client
	odd    loglimit.Limit[struct{}] // of connections that speak HTTP or TLS
}

// ListenTCP opens a socket.
func ListenTCP(o TCPOptions) (*TCP, error) {
	o = o.withDefaults()
	t := &TCP{l: o.Listener, o: o, places: NewPlaces(o.Conns, o.HostConns, o.Yield)}
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

// Close closes the socket that listens. A second call does nothing.
func (t *TCP) Close() error {
	if err := t.l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Serve takes connections until ctx ends, and calls handle for each in a new goroutine. A
// connection is closed when its handle returns; Serve returns when all have returned. The error is
// not nil if the listening socket failed before ctx ended.
func (t *TCP) Serve(ctx context.Context, handle func(ctx context.Context, c *Conn)) error {
	return Accept(ctx, t.l, func(ctx context.Context, nc net.Conn) func() {
		c := t.enter(ctx, nc)
		if c == nil {
			return nil
		}
		t.o.Traffic.Connections.Add(1)
		return func() {
			defer t.leave(c)
			stop := context.AfterFunc(ctx, c.interrupt)
			defer stop()
			handle(ctx, c)
		}
	})
}

// enter makes a Conn of a connection. If all places are taken it refuses the connection, and
// returns nil.
func (t *TCP) enter(ctx context.Context, nc net.Conn) *Conn {
	host, client := Local, Local
	if a := Address(nc.RemoteAddr()); a.IsValid() {
		host, client = a.String(), Client(a)
	}
	place, made := t.places.Enter(nc, client, host, time.Now())
	if place == nil {
		t.o.Traffic.Refused.Add(1)
		t.full(client, host, "too many connections, one is refused")
		Refuse(nc, t.o.Farewell)
		return nil
	}
	if made {
		t.full(client, host, "too many connections, the one that was silent for longest is closed for a new one")
	}
	c := &Conn{Conn: nc, Host: host, Peer: host, ctx: ctx, o: &t.o, odd: &t.odd, place: place}
	if place.Number > 1 {
		c.Peer += "#" + strconv.Itoa(place.Number)
	}
	return c
}

func (t *TCP) full(client, host, what string) {
	t.lines.Log(t.o.Logger.Warn, client, time.Now(), what, "from", host)
}

func (t *TCP) leave(c *Conn) {
	_ = c.Close() // what was to be written has been
	c.place.Leave()
	t.o.Traffic.Connections.Add(-1)
}

// The pauses after an Accept that failed grow from firstPause to lastPause.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// Accept takes connections from l until ctx ends. It calls open for each connection, and runs the
// function that open returns, serve, in a new goroutine. If serve is nil, open has refused and
// closed the connection. The context that open is given ends when Accept stops.
//
// When ctx ends, Accept closes l. It closes each connection when its serve returns, and returns
// when all have returned. The error is not nil if l failed before ctx ended.
func Accept(ctx context.Context, l net.Listener, open func(ctx context.Context, nc net.Conn) (serve func())) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // l.Accept sees it
	defer stop()
	defer func() { _ = l.Close() }() // the error of a second Close means nothing
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = nc.Close() // it came too late
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept at %s: %w", l.Addr(), err)
		case err != nil: // too many open files, or the peer has gone: the error passes
			pause = min(max(2*pause, firstPause), lastPause)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			continue
		}
		pause = 0
		serve := open(ctx, nc)
		if serve == nil {
			continue
		}
		running.Go(func() {
			defer func() { _ = nc.Close() }() // what was to be written has been
			serve()
		})
	}
}

// farewellTime is how long a Write to a refused peer may take. The buffer of a new socket has room
// for the farewell, so the Write does not wait in practice.
const farewellTime = 10 * time.Millisecond

// Refuse sends farewell to the peer of a connection that has no place, and closes the connection.
func Refuse(nc net.Conn, farewell []byte) {
	if t, ok := nc.(*tls.Conn); ok {
		nc, farewell = t.NetConn(), nil // a handshake would keep the caller waiting
	}
	if len(farewell) > 0 {
		_ = nc.SetWriteDeadline(time.Now().Add(farewellTime)) // then Write says so
		_, _ = nc.Write(farewell)                             // it is closed either way
	}
	_ = nc.Close() // its peer sees that
}

// The defaults of TCPOptions.
const (
	DefaultConns     = 1000
	DefaultHostConns = 100
	DefaultIdle      = 10 * time.Minute
	DefaultWriteTime = 5 * time.Second
)

// TCPOptions configures a TCP listener. Fields that are zero have the defaults above.
type TCPOptions struct {
	// Address is host:port.
	Address string
	// Listener, if not nil, is an open socket to use in place of Address.
	Listener net.Listener
	// Conns is how many connections there may be; 0: DefaultConns.
	Conns int
	// HostConns is how many connections one client may have, see Client; 0: DefaultHostConns.
	HostConns int
	// Idle is how long a peer may be silent; 0: DefaultIdle, negative: for ever.
	Idle time.Duration
	// Yield is how long a peer may be silent while another needs its place; 0: YieldTime.
	Yield time.Duration
	// WriteTime is how long one Write may take; 0: DefaultWriteTime.
	WriteTime time.Duration
	// Farewell is sent to a peer whose connection is refused.
	Farewell []byte
	// Traffic, if not nil, counts connections and bytes.
	Traffic *Traffic
	// Logger takes a line when all places are taken; nil: silent.
	Logger *slog.Logger
}

func (o TCPOptions) withDefaults() TCPOptions {
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
	if o.Traffic == nil {
		o.Traffic = new(Traffic)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
