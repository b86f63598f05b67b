package server

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/internal/sockets"
)

// A connections is a listener whose connections are counted, all and of each client. A client that
// is at its share loses the connection that was idle longest for each new one, and so does the
// client with most connections when all are taken: who holds connections without using them cannot
// keep others, or himself, from a new one.
type connections struct {
	net.Listener
	most, share int // connections; of one client

	mu      sync.Mutex // guards what follows, and the fields of each conn
	clients map[string]map[*conn]struct{}
	count   int
	clock   uint64 // counts the uses of connections

	closed atomic.Uint64 // connections closed for new ones, and new ones for which no other could be
}

func limitConnections(l net.Listener, most, share int) *connections {
	return &connections{Listener: l, most: most, share: share, clients: make(map[string]map[*conn]struct{})}
}

// A conn is one connection. Its fields are guarded by owner.mu.
type conn struct {
	net.Conn
	owner    *connections
	client   string
	requests int    // that have begun and not ended
	admitted int    // of these, those that have a place
	used     uint64 // when a request began or ended last, by owner.clock
}

// Accept returns the next connection that there is room for.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		k := &conn{Conn: c, owner: l, client: clientOf(c.RemoteAddr().String())}
		victim, ok := l.add(k)
		if victim != nil {
			_ = victim.Conn.Close() // the peer sees the end, whatever else goes wrong
		}
		if ok {
			return k, nil
		}
		_ = c.Close() // likewise
	}
}

// add takes c in. victim is another connection, to be closed for it; without one, c may have to go.
func (l *connections) add(c *conn) (victim *conn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.clients[c.client]) >= l.share:
		victim = idlest(l.clients[c.client])
	case l.count >= l.most:
		victim = idlest(l.greediest())
	default:
		l.put(c)
		return nil, true
	}
	l.closed.Add(1)
	if victim == nil {
		return nil, false
	}
	l.drop(victim)
	l.put(c)
	return victim, true
}

func (l *connections) put(c *conn) {
	if l.clients[c.client] == nil {
		l.clients[c.client] = make(map[*conn]struct{})
	}
	l.clients[c.client][c] = struct{}{}
	l.count++
	l.touch(c)
}

// drop forgets c; it may be called again.
func (l *connections) drop(c *conn) {
	of := l.clients[c.client]
	if _, ok := of[c]; !ok {
		return
	}
	delete(of, c)
	l.count--
	if len(of) == 0 {
		delete(l.clients, c.client)
	}
}

func (l *connections) touch(c *conn) {
	l.clock++
	c.used = l.clock
}

// greediest returns the connections of the client that has most.
func (l *connections) greediest() (most map[*conn]struct{}) {
	for _, of := range l.clients {
		if len(of) > len(most) {
			most = of
		}
	}
	return most
}

// idlest returns the connection without a request that was used longest ago; if all have one, that
// whose requests have no place; nil if there is none.
func idlest(of map[*conn]struct{}) (best *conn) {
	for c := range of {
		switch {
		case c.admitted > 0:
		case best == nil,
			(c.requests == 0) != (best.requests == 0) && c.requests == 0,
			(c.requests == 0) == (best.requests == 0) && c.used < best.used:
			best = c
		}
	}
	return best
}

// open returns how many connections there are.
func (l *connections) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Close closes the connection and gives its room back.
func (c *conn) Close() error {
	c.owner.mu.Lock()
	c.owner.drop(c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}

// begin and end say that a request of c is there, and admit that it has a place. On nil they do
// nothing.
func (c *conn) begin() { c.count(1, 0) }
func (c *conn) admit() { c.count(0, 1) }
func (c *conn) leave() { c.count(0, -1) }
func (c *conn) end()   { c.count(-1, 0) }

func (c *conn) count(requests, admitted int) {
	if c == nil {
		return
	}
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	c.requests += requests
	c.admitted += admitted
	c.owner.touch(c)
}

type connKey struct{}

// withConn is http.Server's ConnContext.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if k, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, k)
	}
	return ctx
}

// connOf returns the connection of a request; nil if it is not counted.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// clientOf returns what a remote address is counted as: the address without its port; of IPv6 the
// network of 64 bits, which one host has for itself.
func clientOf(remote string) string {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	return sockets.Client(a.Addr())
}
