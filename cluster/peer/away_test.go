package peer_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// stuckEngine takes batches and does not apply them.
type stuckEngine struct {
	core.Engine
	took chan *core.Ticket
}

func (e *stuckEngine) Submit(_ context.Context, _ *core.Batch, t *core.Ticket) error {
	t.Begin()
	e.took <- t
	return nil
}

// When a node dies, what is on its way fails, and says that it may be stored; nothing hangs.
func TestBatchesOnTheirWayFailWhenTheNodeDies(t *testing.T) {
	e := &stuckEngine{enginetest.Open(t), make(chan *core.Ticket, 100)}
	web := serve(t, of(e))
	c := partition(t, web.URL, peer.Options{})
	const many = 50
	tickets := make([]core.Ticket, many)
	batches := make([]core.Batch, many)
	for i := range tickets {
		batches[i].Add(core.Ref(1<<32), rra.Time(i), rra.Int(1))
		if err := c.Submit(t.Context(), &batches[i], &tickets[i]); err != nil {
			t.Fatal(err)
		}
	}
	there := make([]*core.Ticket, many)
	for i := range there {
		there[i] = <-e.took
	}
	web.CloseClientConnections()
	for i := range tickets {
		if err := tickets[i].Wait(); !errors.Is(err, core.ErrUnanswered) || !strings.Contains(err.Error(), "may be stored or not") {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	for _, ticket := range there { // the handler waits for them
		ticket.Complete(nil)
	}
	// The client connects again by itself.
	if err := c.Submit(t.Context(), &batches[0], &tickets[0]); err != nil {
		t.Fatal(err)
	}
	(<-e.took).Complete(nil)
	if err := tickets[0].Wait(); err != nil {
		t.Errorf("after the connection broke: %v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	web := serve(t, of(enginetest.Open(t)))
	c := partition(t, web.URL, peer.Options{})
	web.CloseClientConnections()
	web.Close()
	if _, err := c.Lookup("a"); !errors.Is(err, core.ErrUnanswered) || !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("look up: %v", err)
	}
	var b core.Batch
	b.Add(1, 1, rra.Int(1))
	if err := core.Append(t.Context(), c, &b); !errors.Is(err, core.ErrUnanswered) {
		t.Errorf("append: %v", err)
	}
	for _, err := range c.Select(t.Context(), core.Query{Order: core.ByPath}) {
		if !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("list: %v", err)
		}
	}
	if _, err := c.Alter(t.Context(), "a", nil); !errors.Is(err, core.ErrUnanswered) {
		t.Errorf("alter: %v", err)
	}
	if _, err := core.Import(t.Context(), c, make([]core.Copy, 1), false); !errors.Is(err, core.ErrUnanswered) {
		t.Errorf("import: %v", err)
	}
	if _, complete := c.Watch(5).Take(); complete {
		t.Error("a watch of a node that is gone is complete")
	}
	_ = c.Stats() // does not hang
}

// Batches of one caller are applied in order, many on their way at once.
func TestBatchesKeepTheirOrder(t *testing.T) {
	s := enginetest.Open(t)
	ref := gauge(t, s, "a")
	c := partition(t, serve(t, of(s)).URL, peer.Options{})
	const many = 1000
	tickets := make([]core.Ticket, many)
	batches := make([]core.Batch, many)
	for i := range tickets {
		batches[i].Add(ref, rra.Seconds(int64(1010+10*i)), rra.Int(int64(i)))
		if err := c.Submit(t.Context(), &batches[i], &tickets[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range tickets {
		if err := tickets[i].Wait(); err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	if tickets[many-1].Pos() == 0 || c.Acknowledged() < tickets[many-1].Pos() {
		t.Errorf("the last batch has position %d, the partition %d", tickets[many-1].Pos(), c.Position())
	}
}

// followerEngine has applied the log up to a position.
type followerEngine struct {
	core.Engine
	at     atomic.Uint64
	waited chan wal.Pos
}

func (e *followerEngine) Position() wal.Pos     { return wal.Pos(e.at.Load()) }
func (e *followerEngine) Acknowledged() wal.Pos { return 0 }

func (e *followerEngine) WaitFor(_ context.Context, p wal.Pos) error {
	e.at.Store(uint64(p))
	e.waited <- p
	return nil
}

// A reader who asks for the position of a write waits until a replica has it.
func TestReaderWaitsForPosition(t *testing.T) {
	e := &followerEngine{Engine: enginetest.Open(t), waited: make(chan wal.Pos, 10)}
	gauge(t, e.Engine, "a")
	server := of(e)
	c := partition(t, serve(t, server).URL, peer.Options{})
	list := func(ctx context.Context) {
		for _, err := range c.Select(ctx, core.Query{Order: core.ByPath}) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	list(t.Context())
	if len(e.waited) > 0 {
		t.Error("a reader who asks for no position waits")
	}
	list(core.AtLeast(t.Context(), 41))
	select {
	case p := <-e.waited:
		if p != 41 {
			t.Errorf("it waits for %d, want 41", p)
		}
	default:
		t.Error("a reader who asks for position 41 does not wait")
	}
	if p := c.Position(); p != 41 {
		t.Errorf("the answer tells position %d", p)
	}
	// A partition that was put back to an earlier state is not taken for what it was.
	e.at.Store(7)
	opened := &followerEngine{Engine: e.Engine, waited: e.waited}
	opened.at.Store(7)
	server.Partition = func(int) (core.Engine, error) { return opened, nil }
	list(t.Context())
	if p := c.Position(); p != 7 {
		t.Errorf("after it was opened anew the answer tells position %d", p)
	}
	if err := c.WaitFor(t.Context(), 12); err != nil || <-e.waited != 12 {
		t.Errorf("wait for position 12: %v", err)
	}
	// An engine that does not know is not taken at its word.
	c = partition(t, serve(t, of(struct{ core.Engine }{e.Engine})).URL, peer.Options{})
	if _, err := core.Refs(core.AtLeast(t.Context(), 1<<40), c, nil); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("a position that nobody can wait for: %v", err)
	}
}

// silentEngine does not answer before it is let.
type silentEngine struct {
	core.Engine
	asked, let chan struct{}
}

func (e *silentEngine) Drop(context.Context, []core.Dropping) ([]error, error) {
	e.asked <- struct{}{}
	<-e.let
	return make([]error, 1), nil
}

// A hungConn is a connection that, when it hangs, brings nothing any more.
type hungConn struct {
	net.Conn
	hangs atomic.Bool
}

func (c *hungConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.hangs.Load() {
			return n, err
		}
	}
}

// A caller waited for a node that had died, or took what may be done for something that is not.
func TestCallOfANodeThatIsGivenUp(t *testing.T) {
	e := &silentEngine{enginetest.Open(t), make(chan struct{}), make(chan struct{})}
	web := serve(t, of(e))
	var hung atomic.Pointer[hungConn]
	n, err := peer.NewNode(web.URL, peer.Options{Token: token, Timeout: 500 * time.Millisecond, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		hung.Store(&hungConn{Conn: c})
		return hung.Load(), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	c := n.Partition(3)
	failed := make(chan error)
	go func() { failed <- core.Drop(t.Context(), c, "a") }()
	<-e.asked
	hung.Load().hangs.Store(true)
	if err := <-failed; !errors.Is(err, core.ErrUnanswered) {
		t.Errorf("a call that the node has got: %v", err)
	}
	close(e.let)
	if _, err := c.Lookup("a"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("the node is asked again: %v", err)
	}
	// A node without the partition has done nothing.
	other := n.Partition(4)
	if err := core.Drop(t.Context(), other, "a"); !errors.Is(err, core.ErrUnanswered) {
		t.Errorf("a partition that is not there: %v", err)
	}
	var b core.Batch
	b.Add(1, 1, rra.Int(1))
	if err := core.Append(t.Context(), other, &b); !errors.Is(err, core.ErrUnanswered) {
		t.Errorf("samples for a partition that is not there: %v", err)
	}
}
