package sockets

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
)

// The limits of a TCP listener where TCPOptions gives none.
const (
	DefaultConns     = 1000
	DefaultHostConns = 100
	DefaultIdle      = 10 * time.Minute
	DefaultWriteTime = 5 * time.Second
)

// TCPOptions says how connections are taken.
type TCPOptions struct {
	// Address is host:port.
	Address string
	// Listener, if not nil, is an open socket to use in place of Address.
	Listener net.Listener
	// Conns is how many connections there may be; 0: DefaultConns.
	Conns int
	// HostConns is how many one client may have, see Client; 0: DefaultHostConns.
	HostConns int
	// Idle is how long a peer may be silent; 0: DefaultIdle, negative: for ever.
	Idle time.Duration
	// Yield is how long a peer may be silent while another needs its place; 0: YieldTime.
	Yield time.Duration
	// WriteTime is how long one Write may take; 0: DefaultWriteTime.
	WriteTime time.Duration
	// Farewell is sent to a peer whose connection is refused.
	Farewell []byte
	// Traffic, if not nil, has connections and bytes counted.
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

// TCP takes connections, a bounded number of them, and tells their peers apart.
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

// Close closes the socket that listens.
func (t *TCP) Close() error {
	if err := t.l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Serve takes connections until ctx ends, and calls handle for each in a goroutine of its own. It
// returns when all of those have returned; connections that they leave open are closed. Where it
// cannot go on although ctx has not ended, the error says why.
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

// enter makes a Conn of a connection, if there is a place for one more.
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
	c := &Conn{Conn: nc, Host: host, Peer: host, ctx: ctx, t: t, place: place}
	if place.Number > 1 {
		c.Peer += "#" + strconv.Itoa(place.Number)
	}
	return c
}

func (t *TCP) full(client, host, what string) {
	if ok, held := t.lines.Allow(client, time.Now()); ok {
		t.o.Logger.Warn(what, "from", host, "held_back_lines", held)
	}
}

func (t *TCP) leave(c *Conn) {
	_ = c.Close() // what was to be written has been
	c.place.Leave()
	t.o.Traffic.Connections.Add(-1)
}
