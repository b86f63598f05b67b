package sockets

import (
	"context"
	"errors"
	"net"
	"strconv"
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
