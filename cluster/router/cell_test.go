package router_test

import (
	"context"
	"errors"
	"sync"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// A cell is a Directory of partitions whose leaders come and go. Behind the engines of a partition
// is one store, as replicas are equal.
type cell struct {
	mu    sync.Mutex
	parts []*seat
}

// A seat is a partition: who leads it.
type seat struct {
	c       *cell
	store   core.Engine
	leader  *node // nil: nobody
	reader  *node // nil: the leader
	changed chan struct{}
}

// A node is an engine of one partition. It takes batches while it leads, and has them on their way
// until pump or depose is called.
type node struct {
	core.Engine
	s    *seat
	sent []sent
	hold bool // batches stay on their way

	position, newest wal.Pos // as a replica
	waited           []wal.Pos
}

type sent struct {
	b core.Batch
	t *core.Ticket
}

func newCell(all stores) *cell {
	c := new(cell)
	for _, e := range all {
		s := &seat{c: c, store: e, changed: make(chan struct{})}
		c.parts = append(c.parts, s)
		s.elect()
	}
	return c
}

func (c *cell) Partitions() int { return len(c.parts) }

var errNobody = errors.New("nobody is there")

func (c *cell) Leader(ctx context.Context, p int) (core.Engine, error) {
	for s := c.parts[p]; ; {
		c.mu.Lock()
		n, changed := s.leader, s.changed
		c.mu.Unlock()
		if n != nil {
			return n, nil
		}
		if ctx.Err() != nil {
			return nil, errNobody
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *cell) Reader(ctx context.Context, p int) (core.Engine, error) {
	c.mu.Lock()
	n := c.parts[p].reader
	c.mu.Unlock()
	if n != nil {
		return n, nil
	}
	return c.Leader(ctx, p)
}

// elect makes another node lead.
func (s *seat) elect() *node {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.leader = &node{Engine: s.store, s: s}
	close(s.changed)
	s.changed = make(chan struct{})
	return s.leader
}

// depose ends the lead of the partition. What is on its way to the leader is refused, in order.
func (s *seat) depose() {
	s.c.mu.Lock()
	n := s.leader
	s.leader = nil
	var sent []sent
	if n != nil {
		sent, n.sent = n.sent, nil
	}
	s.c.mu.Unlock()
	for _, x := range sent {
		x.t.Complete(core.ErrNotLeader)
	}
}

func (n *node) leads() bool {
	n.s.c.mu.Lock()
	defer n.s.c.mu.Unlock()
	return n.s.leader == n
}

// Submit takes a batch, and stores it at once unless batches are held.
func (n *node) Submit(_ context.Context, b *core.Batch, t *core.Ticket) error {
	n.s.c.mu.Lock()
	if n.s.leader != n {
		n.s.c.mu.Unlock()
		return core.ErrNotLeader
	}
	x := sent{t: t}
	b.Split(func(_ int, ref core.Ref) (*core.Batch, core.Ref) { return &x.b, ref })
	t.Begin()
	n.sent = append(n.sent, x)
	hold := n.hold
	n.s.c.mu.Unlock()
	if !hold {
		n.pump()
	}
	return nil
}

// pump stores what is on its way.
func (n *node) pump() {
	for {
		n.s.c.mu.Lock()
		if len(n.sent) == 0 {
			n.s.c.mu.Unlock()
			return
		}
		x := n.sent[0]
		n.sent = n.sent[1:]
		err := core.Append(context.Background(), n.Engine, &x.b)
		n.newest++
		n.s.c.mu.Unlock()
		x.t.Complete(err)
	}
}

func (n *node) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	if !n.leads() {
		return nil, core.ErrNotLeader
	}
	n.s.c.mu.Lock()
	defer n.s.c.mu.Unlock()
	n.newest++
	return n.Engine.CreateBatch(ctx, specs)
}

// What a replica reports.

func (n *node) Acknowledged() wal.Pos {
	n.s.c.mu.Lock()
	defer n.s.c.mu.Unlock()
	return n.newest
}

func (n *node) Position() wal.Pos {
	n.s.c.mu.Lock()
	defer n.s.c.mu.Unlock()
	return n.position
}

func (n *node) WaitFor(ctx context.Context, p wal.Pos) error {
	n.s.c.mu.Lock()
	defer n.s.c.mu.Unlock()
	n.waited = append(n.waited, p)
	n.position = max(n.position, p)
	return ctx.Err()
}

var (
	_ router.Replica = (*node)(nil)
	_ router.Replica = (*core.Store)(nil)
)
