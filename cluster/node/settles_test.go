package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
)

// TestNodeSettles: status said that a cluster was whole when the node that was asked had just
// started. It took all nodes for live, and itself for its former session.
func TestNodeSettles(t *testing.T) {
	now := epoch
	clock := func() time.Time { return now }
	servers := coordtest.New(clock, 0)
	former := &coord.Announcer{Store: servers.Truth()}
	if err := former.Announce(t.Context(), coord.Member{Name: "a", Session: "1", Address: "a:1"}, nil); err != nil {
		t.Fatal(err)
	}
	store := &failing{Store: servers.Truth()}
	n, err := New(Options{Name: "a", Address: "a:1", Session: "2", Store: store, Disk: pawns(0), Peers: modelPeer{}, now: clock, DigestInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	tick := func(after time.Duration) {
		t.Helper()
		now = now.Add(after)
		if err := n.tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, want time.Duration) {
		t.Helper()
		if got := n.Settles(); got != want {
			t.Errorf("%s: it settles in %v, want %v", what, got, want)
		}
	}
	lease := n.o.Times.Lease
	want("it has not looked", lease)
	tick(0)
	want("it has looked once", lease)
	tick(lease - time.Second)
	want("a second is left", time.Second)
	tick(time.Second)
	want("it knows who is silent", 0)
	if err := n.Unheard(); err != nil {
		t.Errorf("it is unheard: %v", err)
	}
	store.err = errors.New("no room")
	for range lease/time.Second + 1 {
		tick(time.Second)
	}
	if err := n.Unheard(); !errors.Is(err, store.err) {
		t.Errorf("nobody takes its announcements: %v", err)
	}
}

// A failing store takes no value if it has an error.
type failing struct {
	coord.Store
	err error
}

func (s *failing) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if s.err != nil {
		return 0, s.err
	}
	return s.Store.CompareAndSet(ctx, key, value, revision)
}
