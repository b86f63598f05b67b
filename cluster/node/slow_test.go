package node

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// A pawn is a replica that is level with the log, and leads when the test says so.
type pawn struct {
	mu    sync.Mutex
	leads bool
}

func (r *pawn) set(leads bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leads = leads
	return nil
}

func (r *pawn) Standing() Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Standing{Leads: r.leads, Position: 5, Newest: 5, Checkpoint: 5}
}

func (r *pawn) Engine() core.Engine              { return nil }
func (r *pawn) Promote(context.Context) error    { return r.set(true) }
func (r *pawn) Demote(context.Context) error     { return r.set(false) }
func (r *pawn) Checkpoint(context.Context) error { return nil }
func (r *pawn) Truncate(wal.Pos) error           { return nil }
func (r *pawn) LastDigest() core.Digested        { return core.Digested{} }
func (r *pawn) Close() error                     { return nil }

func (r *pawn) TakeDigest(context.Context, float64) (core.Digested, error) {
	return core.Digested{}, core.ErrUnavailable
}

func (r *pawn) AwaitDigest(context.Context, wal.Pos) (uint64, error) { return 0, core.ErrUnavailable }

// pawns is a disk with so many of them.
type pawns int

func (pawns) Known() (string, placement.Map, error)         { return "", placement.Map{}, nil }
func (pawns) Keep(placement.Map) error                      { return nil }
func (pawns) Open(context.Context, int) (Replica, error)    { return new(pawn), nil }
func (pawns) Restore(context.Context, int, io.Reader) error { return nil }
func (pawns) Remove(int) error                              { return nil }

func (n pawns) List() (all []int, err error) {
	for i := range int(n) {
		all = append(all, i)
	}
	return all, nil
}

// A slowStore answers late, or with what it had before.
type slowStore struct {
	coord.Store
	slow func()
	old  bool
	had  map[string][]coord.Entry
}

func (s *slowStore) List(ctx context.Context, prefix string) ([]coord.Entry, error) {
	if s.old {
		return s.had[prefix], nil
	}
	all, err := s.Store.List(ctx, prefix)
	s.had[prefix] = all
	return all, err
}

func (s *slowStore) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if s.slow != nil && strings.Contains(key, "lease") {
		s.slow()
	}
	return s.Store.CompareAndSet(ctx, key, value, revision)
}

// A pair is node a, and what another node b says.
type pair struct {
	t       *testing.T
	node    *Node
	store   *slowStore
	servers *coordtest.Servers
	parts   int
	b       coord.Announcer

	mu  sync.Mutex
	now time.Time
}

func newPair(t *testing.T, parts int) *pair {
	p := &pair{t: t, parts: parts, now: epoch}
	clock := func() time.Time {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.now
	}
	p.servers = coordtest.New(clock, 0)
	m, err := placement.New(parts, 2, []placement.Member{{Name: "a"}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Partitions {
		m.Partitions[i].Nodes = []string{"a", "b"}
	}
	m.Cluster = "tested"
	if _, err = coord.WriteMap(t.Context(), p.servers.Truth(), m, 0); err != nil {
		t.Fatal(err)
	}
	p.store = &slowStore{Store: p.servers.Client("a"), had: make(map[string][]coord.Entry)}
	p.b.Store = p.servers.Truth()
	p.node, err = New(Options{
		Name: "a", Address: "a:1", Session: "1", Store: p.store, Disk: pawns(parts), Peers: modelPeer{}, now: clock, DigestInterval: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

// look lets b announce itself, and node a look and do what is due.
func (p *pair) look(after time.Duration) {
	p.t.Helper()
	p.pass(after)
	b := coord.Member{Name: "b", Session: "1"}
	for i := range p.parts {
		b.Partitions = append(b.Partitions, coord.Standing{Partition: i, Position: 5, Checkpoint: 5, Current: true})
	}
	if err := p.b.Announce(p.t.Context(), b, func(coord.Member) bool { return true }); err != nil {
		p.t.Fatal(err)
	}
	if err := p.node.tick(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	p.node.tasks.Wait()
}

// A node whose servers took 11 s to write 16 leases led by none of the later ones, and gave some of
// them away.
func TestLeasesAreWrittenSlowly(t *testing.T) {
	const parts = 16
	p := newPair(t, parts)
	p.store.slow = func() { p.pass(700 * time.Millisecond) }
	for range 4 {
		p.look(time.Second)
	}
	p.store.slow = nil
	for range 3 {
		p.look(time.Second)
	}
	for i := range parts {
		l := p.node.locals[i]
		if l == nil || !p.node.mine(l) || !l.replica.Standing().Leads || l.lease.Term != 1 {
			t.Errorf("partition %d: %+v", i, l)
		}
	}
	if n := p.node.counts.Failures; n > 0 {
		t.Errorf("%d tasks failed", n)
	}
}

// A node that was shown old lists took the lease of a leader that announced itself every second.
func TestOldListsMakeNoLeader(t *testing.T) {
	p := newPair(t, 1)
	if _, err := coord.WriteLease(t.Context(), p.servers.Truth(), 0, coord.Lease{}, coord.Lease{}.For("b", "1")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.look(time.Second)
	}
	p.store.old = true
	for i := range 20 {
		p.look(time.Second)
		if p.node.mine(p.node.locals[0]) {
			t.Fatalf("after %d s of old lists the node takes the lease of another one", i+1)
		}
	}
	p.store.old = false
	p.pass(10 * time.Second)
	p.look(time.Second)
	for range 12 { // b is silent now
		p.pass(time.Second)
		if err := p.node.tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.node.tasks.Wait()
	}
	if err := p.node.Leads(0); err != nil {
		t.Errorf("after b was silent for 12 s: %v", err)
	}
}
