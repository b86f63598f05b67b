package peer

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// Options say how a node reaches others.
type Options struct {
	// Token is what the other node's Server.Token is; empty: none.
	Token string
	// TLS is the configuration for https, with the client certificate; nil: the default.
	TLS *tls.Config
	// Timeout bounds calls that have no context; 0: DefaultTimeout. A node that sends nothing for
	// 0.6 of it, although it is asked to, counts as gone.
	Timeout time.Duration
	// Dial connects to an address, within half of Timeout; nil: a net.Dialer does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DefaultTimeout is Options.Timeout where that is 0.
const DefaultTimeout = 10 * time.Second

// A Node is the connection to another node. Its methods may be called concurrently.
type Node struct {
	address   string
	o         Options
	transport *http.Transport
	rpc       *connect.Client[message, message]

	mu     sync.Mutex // guards what follows
	parts  map[int]*Client
	stream *submitStream // of all clients; nil: none was needed yet
}

// NewNode returns the connection to the node at an address, "http://HOST:PORT" or
// "https://HOST:PORT". Nothing is sent before the first call.
func NewNode(address string, o Options) (*Node, error) {
	encrypted := strings.HasPrefix(address, "https://")
	if !encrypted && !strings.HasPrefix(address, "http://") {
		return nil, fmt.Errorf("%.200q is no address of a node: want http://HOST:PORT or https://HOST:PORT", address)
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	// net/http adds protocols to its configuration, and this one may be of many nodes.
	t := &http.Transport{TLSClientConfig: o.TLS.Clone(), Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP2(encrypted)
	t.Protocols.SetUnencryptedHTTP2(!encrypted)
	n := &Node{address: address, o: o, transport: t, parts: make(map[int]*Client)}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, o.Timeout/2)
		defer cancel()
		return o.Dial(ctx, network, address)
	}
	t.TLSHandshakeTimeout = o.Timeout / 2
	// A node that answers no ping is gone, a little after others take its leases (coord.Times):
	// calls under way end then, without a deadline as well, and are not made to it once more.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: o.Timeout * 9 / 20, PingTimeout: o.Timeout * 9 / 20}
	h := &http.Client{Transport: bearer{t, o.Token}}
	n.rpc = connect.NewClient[message, message](h, address+procedure, connect.WithCodec(codec{}),
		connect.WithReadMaxBytes(MaxMessage), connect.WithAcceptCompression("gzip", nil, nil))
	return n, nil
}

// Close fails the batches that are on their way, and closes the idle connections. Other calls under
// way go on.
func (n *Node) Close() {
	n.mu.Lock()
	s := n.stream
	n.stream = nil
	n.mu.Unlock()
	if s != nil {
		s.end(errors.New("the connection to the node is closed"))
	}
	n.transport.CloseIdleConnections()
}

// A bearer sends a token with each request.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.RoundTripper.RoundTrip(r)
}

// A Client is a partition of another node. It is a core.Engine.
type Client struct {
	node      *Node
	partition uint32

	position     atomic.Uint64 // up to which the partition is applied, as answers have said
	acknowledged atomic.Uint64 // the newest that an answer has named
	heard        atomic.Int64  // when an answer came last, in nanoseconds

	mu       sync.Mutex // guards what follows
	instance uint64     // of the partition as it answered last; 0: it has not
	renames  uint64     // what Renames returns
	told     uint64     // the count of the instance

	under *limit.Limit // bytes of batches on their way
	state state
}

var _ core.Engine = (*Client)(nil)

// A state is what a partition has reported of its counters.
type state struct {
	mu    sync.Mutex // guards what follows; held while the partition is asked
	at    time.Time
	stats core.Stats
}

// Partition returns a partition of n: the same client each time.
func (n *Node) Partition(partition int) *Client {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.parts[partition]
	if c == nil {
		c = &Client{node: n, partition: uint32(partition), under: limit.New(maxUnder, maxUnder)}
		n.parts[partition] = c
	}
	return c
}

// Position returns the position up to which the partition has applied its log, as its answers have
// said. It may be further by now.
func (c *Client) Position() wal.Pos { return wal.Pos(c.position.Load()) }

// Acknowledged returns a position at or above every change that was made through c. A reader who
// asks for it (core.AtLeast) sees them, on any replica.
func (c *Client) Acknowledged() wal.Pos { return wal.Pos(c.acknowledged.Load()) }

// raise makes x at least n.
func raise(x *atomic.Uint64, n uint64) {
	for was := x.Load(); was < n && !x.CompareAndSwap(was, n); was = x.Load() {
	}
}

// target returns what a question of ctx is for.
func (c *Client) target(ctx context.Context) target {
	return target{partition: c.partition, after: core.LeastPosition(ctx), number: core.NumberOf(ctx)}
}

// bounded returns a context for a call whose caller may have set no bound.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.node.o.Timeout, errSilent)
}

// errSilent says why a call ended whose caller may have set no bound.
var errSilent = errors.New("the node has not answered in time")

// took notes where the partition stands.
func (c *Client) took(st *standing) {
	c.heard.Store(time.Now().UnixNano())
	raise(&c.acknowledged, uint64(st.acknowledged))
	if st.instance == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.instance != st.instance || st.renames < c.told: // it was opened anew
		c.renames++
		if c.instance != st.instance {
			c.position.Store(0) // it may have been put back to an earlier state
		}
		c.instance, c.told = st.instance, st.renames
	case st.renames > c.told:
		c.renames += st.renames - c.told
		c.told = st.renames
	}
	raise(&c.position, uint64(st.position))
}

// unanswered returns the error of a call whose answer is missing.
func (c *Client) unanswered(ctx context.Context, err error) error {
	switch connect.CodeOf(err) {
	case connect.CodeUnauthenticated, connect.CodePermissionDenied, connect.CodeUnimplemented, connect.CodeInvalidArgument:
		return fmt.Errorf("node %s: %w", c.node.address, err)
	case connect.CodeResourceExhausted:
		return fmt.Errorf("node %s: %w: %w", c.node.address, err, core.ErrTooLarge)
	}
	switch cause := context.Cause(ctx); {
	case cause == errSilent:
		err = cause
	case cause != nil:
		return ctx.Err()
	}
	return c.away(err)
}

// away says that the other node does not answer.
func (c *Client) away(err error) error {
	return fmt.Errorf("partition %d at node %s: %w: %w", c.partition, c.node.address, err, core.ErrUnanswered)
}

// asked returns the first message of a call.
func (m *method[Q, A]) asked(t target, q *Q) *message {
	t.method = m.name
	k := coder{writes: true}
	codeTarget(&k, &t)
	m.question(&k, q)
	return &message{rest: k.out}
}

// ask makes a call, and calls fn with each part of the answer until it returns false. The error
// comes from the engine, or says that the end of the answer is missing.
func (m *method[Q, A]) ask(ctx context.Context, c *Client, q Q, fn func(*A) (bool, error)) error {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := c.node.rpc.CallServerStream(own, connect.NewRequest(m.asked(c.target(ctx), &q)))
	if err != nil {
		return c.unanswered(ctx, err)
	}
	defer func() { _ = in.Close() }() // an error of it would say nothing new
	stopped, err := m.answers(ctx, c, func() (*message, error) {
		if in.Receive() {
			return in.Msg(), nil
		}
		return nil, in.Err()
	}, fn)
	if stopped {
		cancel()
	}
	return err
}

// one is ask for an answer of one part, which is there if the error comes from the engine as well.
func (m *method[Q, A]) one(ctx context.Context, c *Client, q Q) (answer A, err error) {
	err = m.ask(ctx, c, q, func(a *A) (bool, error) {
		answer = *a
		return true, nil
	})
	return answer, err
}

// answers calls fn with each part of the answer that comes, until it returns false.
func (m *method[Q, A]) answers(ctx context.Context, c *Client, receive func() (*message, error), fn func(*A) (bool, error)) (stopped bool, err error) {
	var k coder
	var a, zero A
	for {
		msg, err := receive()
		if msg == nil && (err == nil || errors.Is(err, io.EOF)) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return false, c.unanswered(ctx, err)
		}
		k.Reader = record.Reader{Rest: msg.rest}
		var h heading
		codeHeading(&k, &h)
		for len(k.Rest) > 0 {
			a = zero
			rest := k.cut()
			if m.answer(&k, &a); k.Err != nil {
				break
			}
			k.Rest = rest
			if more, err := fn(&a); err != nil || !more {
				return true, err
			}
		}
		if k.Err != nil {
			return true, malformed("%s: %w", m.name, k.Err)
		}
		if c.took(&h.standing); h.ended {
			return false, h.err
		}
	}
}
