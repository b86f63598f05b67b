package middleware

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/rpc"
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

// A Share is a limit, and what one client may have of it. A client is an address.
type Share struct{ Most, Client int64 }

func (s Share) limit() *limit.Limit { return limit.New(s.Most, s.Client) }

// A Pace says how long a client may take to send or read n bytes: the time grace, and a second for
// each rate bytes.
type Pace struct {
	Grace time.Duration
	Rate  int64 // bytes a second
}

func (p Pace) deadline(start time.Time, n int64) time.Time {
	return start.Add(p.Grace + time.Duration(n*int64(time.Second)/p.Rate))
}

// Bounds are the limits of the HTTP port.
type Bounds struct {
	Conns        Share          // connections
	Places       [classes]Share // requests that are worked on, by their class
	Memory       Share          // bytes that requests and answers hold, other than arriving
	arriving     Share          // bytes that requests which bring samples hold
	Patience     time.Duration  // how long a request waits for a place
	Work         time.Duration  // how long a request may be worked on
	Send, Read   Pace           // how slowly a client may send a request, and read an answer
	Header, Idle time.Duration  // time for the head of a request, and until the next one
}

const (
	// StreamsOfConn is how many requests one connection of HTTP/2 may have at a time.
	StreamsOfConn = 100
	commandTime   = 10 * time.Minute // for a command of the command line
	// bodyBytes bounds the body of a request: a message and the frame of gRPC around it.
	bodyBytes = rpc.MaxRequestBytes + 1<<10
	// requestBytes is what a request holds beside its body and its answer: as much as its head may.
	requestBytes = 64 << 10
	// leastMemory is what requests may hold, however small the budget of the store is.
	leastMemory = 32 << 20
)

// DefaultBounds returns the limits of a server whose store has a budget of memory bytes.
func DefaultBounds(memory int64) Bounds {
	held := max(memory/6, leastMemory)
	return Bounds{
		Conns:    Share{1024, 512},
		Places:   [classes]Share{Cheap: {32, 24}, Heavy: {128, 64}, Lasting: {128, 64}, Watching: {4, 2}},
		Memory:   Share{held, held / 2},
		arriving: Share{held / 2, held / 2 / 4 * 3},
		Patience: 5 * time.Second,
		Work:     2 * time.Minute,
		Send:     Pace{10 * time.Second, 64 << 10}, Read: Pace{20 * time.Second, 64 << 10},
		Header: 10 * time.Second, Idle: 2 * time.Minute,
	}
}

// A Class is a kind of requests that have places of their own.
type Class int

// The classes of requests.
const (
	Cheap    Class = iota // answered from memory, or in milliseconds
	Heavy                 // reads or computes much, in turns: graphs, queries, commands
	Lasting               // ends when its client wants: streams, and sessions of pipe mode
	Watching              // says how the server is doing, and waits for no other request
	classes
	Samples = classes // brings samples, for which its receiver has places
)
