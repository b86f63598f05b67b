package middleware

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/internal/sockets"
)

// A Connections counts the connections of listeners, all together and by client. A client that has
// its full share loses, for each new connection, the one that was idle longest. If all connections
// are taken, the client with most of them loses one in the same way. Idle connections therefore
// never keep anybody from a new one.
type Connections struct {
	bounds Share

	mu      sync.Mutex // guards what follows, and the fields of each conn
	clients map[string]map[*conn]struct{}
	count   int
	clock   uint64 // counts the uses of connections

	closed atomic.Uint64 // connections closed to make room, and new ones refused for want of room
}

// LimitConnections returns what counts and bounds the connections of listeners.
func LimitConnections(bounds Share) *Connections {
	return &Connections{bounds: bounds, clients: make(map[string]map[*conn]struct{})}
}

// A Listener is one address of the HTTP port.
type Listener struct {
	net.Listener
	Key   string // as --http has it; the key of the address in the file of --web-config
	Hosts *Hosts
	Conns *Connections // counts its connections
}

// A conn is one connection. Its counts are guarded by owner.mu; unread belongs to the goroutine
// that serves the connection.
type conn struct {
	net.Conn
	owner    *Connections
	at       *Listener // where it came in
	client   string
	requests int    // requests that have begun and not ended
	admitted int    // requests among them that have a place
	used     uint64 // value of owner.clock when a request last began or ended

	unread bool // HTTP/1: the body of the request is to be read behind its answer
}

// Accept returns the next connection for which there is room.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		k := &conn{Conn: c, owner: l.Conns, at: l, client: sockets.ClientOf(c.RemoteAddr().String())}
		victim, ok := l.Conns.add(k)
		if victim != nil {
			_ = victim.Conn.Close() // the connection is given up in any case
		}
		if ok {
			return k, nil
		}
		_ = c.Close() // likewise
	}
}

// add registers c. victim is another connection to close in its place, or nil. ok is false if there
// is no room for c.
func (l *Connections) add(c *conn) (victim *conn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.clients[c.client]) >= int(l.bounds.Client):
		victim = idlest(l.clients[c.client])
	case l.count >= int(l.bounds.Most):
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

func (l *Connections) put(c *conn) {
	if l.clients[c.client] == nil {
		l.clients[c.client] = make(map[*conn]struct{})
	}
	l.clients[c.client][c] = struct{}{}
	l.count++
	l.touch(c)
}

// drop removes c. It may be called again.
func (l *Connections) drop(c *conn) {
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

func (l *Connections) touch(c *conn) {
	l.clock++
	c.used = l.clock
}

// greediest returns the connections of the client that has most of them.
func (l *Connections) greediest() (most map[*conn]struct{}) {
	for _, of := range l.clients {
		if len(of) > len(most) {
			most = of
		}
	}
	return most
}

// idlest returns the connection without a request that has been idle longest. If all have requests,
// it returns one whose requests have no place, or nil if there is no such connection.
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

// Open returns the number of connections.
func (l *Connections) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Closed returns how many connections were closed to make room, or refused for want of it.
func (l *Connections) Closed() uint64 { return l.closed.Load() }

// Close closes the connection and makes its room free.
func (c *conn) Close() error {
	c.owner.mu.Lock()
	c.owner.drop(c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}

// begin and end count a request of c when it arrives and when it ends; admit counts it when it gets
// a place. On nil they do nothing.
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

// WithConn is http.Server's ConnContext.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if k, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, k)
	}
	return ctx
}

// connOf returns the connection of a request, or nil if the connection is not counted.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// ListenerOf returns where a request came in, or nil if that is not known.
func ListenerOf(r *http.Request) *Listener {
	if c := connOf(r.Context()); c != nil {
		return c.at
	}
	return nil
}

// hostsOf returns the names that are answered where r came in, or otherwise if that is not known.
func hostsOf(r *http.Request, otherwise *Hosts) *Hosts {
	if e := ListenerOf(r); e != nil {
		return e.Hosts
	}
	return otherwise
}
