package receivertest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
)

// A house is one machine, or the nodes of a cluster, that take one protocol into one set of series.
// To a receiver the router of a node is the same as a store.
type house struct {
	t     *testing.T
	p     receivers.Protocol
	more  map[string][]string // flags
	store *core.Store
	now   *atomic.Int64 // the clock, in seconds
	nodes []*node
	next  func() int // the node that takes the next message
}

type node struct {
	receivers.Receiver
	stop   func()
	landed atomic.Int64 // samples that the store has taken or refused
}

func newHouse(t *testing.T, c *sender, nodes int, now *atomic.Int64) *house {
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, p: c.protocol, more: c.flags, store: store, now: now, nodes: make([]*node, nodes), next: func() int { return 0 }}
	t.Cleanup(func() {
		for _, n := range h.nodes {
			n.stop()
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range h.nodes {
		h.start(i)
	}
	return h
}

// start starts a node: it has a sink of its own, and remembers nothing.
func (h *house) start(i int) {
	n := new(node)
	cfg := receivers.Config{
		Address: "127.0.0.1:0", Options: h.more, Gather: -1, Patience: time.Minute, Now: func() time.Time { return time.Unix(h.now.Load(), 0) },
		Logger: slog.New(slog.DiscardHandler),
	}
	r, err := h.p.New(cfg, &counted{sink.New(h.store, sink.Options{Now: cfg.Now}), n})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }()
	n.Receiver, n.stop = r, func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	}
	h.nodes[i] = n
}

// restart ends a node and starts it again.
func (h *house) restart(i int) {
	i %= len(h.nodes)
	h.nodes[i].stop()
	h.start(i)
}

// send brings a message to a node, and returns when what it says is stored.
func (h *house) send(at int, m message) {
	h.t.Helper()
	n := h.nodes[at%len(h.nodes)]
	if handler, ok := n.Receiver.(http.Handler); ok {
		q := httptest.NewRequest(http.MethodPost, m.path, bytes.NewReader(m.body))
		for k, v := range m.header {
			q.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, q); w.Code/100 != 2 || m.quiet && w.Body.Len() > 0 {
			h.t.Errorf("node %d answers %d %s", at, w.Code, w.Body)
		}
		return
	}
	before, read := n.landed.Load(), n.Stats()
	conn, err := net.Dial(h.p.Sockets()[0], n.Addr().String())
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // it has served
	if _, err := conn.Write(m.body); err != nil {
		h.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); n.landed.Load() < before+int64(m.samples) || n.Stats().Bytes == read.Bytes; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("node %d: %d samples have landed, want %d more than %d; %+v", at, n.landed.Load(), m.samples, before, n.Stats())
		}
	}
}

// A counted is a sink that counts samples that have landed.
type counted struct {
	*sink.Sink
	n *node
}

func (c *counted) Submit(ctx context.Context, b *core.Batch) (receivers.Pending, error) {
	p, err := c.Sink.Submit(ctx, b)
	if err != nil {
		return nil, err
	}
	return &landing{p.(receivers.Moved), c.n, b.Len()}, nil
}

type landing struct {
	receivers.Moved
	n       *node
	samples int
}

func (l *landing) Wait() error {
	err := l.Moved.Wait()
	l.n.landed.Add(int64(l.samples))
	return err
}

// A message is what a sender sends at once.
type message struct {
	path    string // of a request
	header  map[string]string
	body    []byte
	samples int  // how many there are in it, at least; of protocols without an answer
	quiet   bool // the answer says nothing
	again   int  // how often it is sent to a further node, as if the answer had not come
}

// A sender sends one protocol.
type sender struct {
	protocol receivers.Protocol
	flags    map[string][]string
	// round returns the messages of a round, which is one of every seconds.
	round func(t *testing.T, i int, at int64) []message
	every int64
}

const (
	begin  = 1_700_000_000
	rounds = 60
)

// TestBalanced: senders whose messages come to three nodes, which start again in the middle, fill
// the same series as on one machine: definitions, states and rows are equal to the last bit.
func TestBalanced(t *testing.T) {
	for name, c := range senders {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait
			var now atomic.Int64
			one := newHouse(t, c, 1, &now)
			houses := []*house{one}
			turn := 0
			inTurn := newHouse(t, c, 3, &now)
			inTurn.next = func() int { turn++; return turn }
			houses = append(houses, inTurn)
			for seed := range uint64(2) {
				h, r := newHouse(t, c, 3, &now), rand.New(rand.NewPCG(seed, 1))
				h.next = func() int { return r.IntN(3) }
				houses = append(houses, h)
			}
			for i := range rounds {
				at := begin + c.every*int64(i)
				now.Store(at)
				for _, m := range c.round(t, i, at) {
					for _, h := range houses {
						first := h.next()
						for k := range 1 + m.again {
							h.send(first+k, m)
						}
					}
				}
				if i%20 == 9 {
					for _, h := range houses {
						h.restart(i / 20)
					}
				}
			}
			want := one.contents()
			if len(want) == 0 {
				t.Fatal("no series was made")
			}
			for k, h := range houses[1:] {
				got := h.contents()
				for path, x := range want {
					if y := got[path]; x != y {
						t.Errorf("%d, %s:\none machine: %.700s\nthree nodes: %.700s", k, path, x, y)
					}
				}
				if len(got) != len(want) {
					t.Errorf("%d: there are %d series, want %d", k, len(got), len(want))
				}
			}
		})
	}
}

// contents returns all series, each as a text that shows all its bits.
func (h *house) contents() map[string]string {
	out := make(map[string]string)
	for s, err := range h.store.Select(h.t.Context(), core.Query{Order: core.ByPath}) {
		if err != nil {
			h.t.Fatal(err)
		}
		c, err := h.store.Export(h.t.Context(), s.Ref)
		if err != nil {
			h.t.Fatal(err)
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "%v step %d, %+v\n", s.Labels, c.Definition.Step, c.Definition.Sources)
		for i, rows := range c.Rows {
			if i > 3 && len(rows) == 0 {
				continue
			}
			fmt.Fprintf(&b, "%v:", c.Definition.Archives[i])
			skipped := 0
			for _, v := range rows {
				if math.IsNaN(v) && skipped >= 0 {
					skipped++
					continue
				}
				skipped = -1
				writeFloat(&b, v)
			}
			fmt.Fprintln(&b)
		}
		fmt.Fprintf(&b, "%x %q\n", c.State.W, c.State.Text)
		out[s.Path] = b.String()
	}
	return out
}

func writeFloat(w io.Writer, v float64) {
	if math.IsNaN(v) {
		_, _ = io.WriteString(w, " U")
		return
	}
	_, _ = fmt.Fprintf(w, " %v", v)
}
