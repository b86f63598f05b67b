package clustered

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
)

// takes fails unless a node learns that a group is its, or is not, and what was kept.
func takes(t *testing.T, n *Turns, group string, want bool, kept string) {
	t.Helper()
	mine, state, err := n.Take(t.Context(), group)
	if err != nil || mine != want || string(state) != kept {
		t.Errorf("node %s takes %s: %v, %q, %v; want %v, %q", n.node, group, mine, state, err, want, kept)
	}
}

// TestTurns: the first node that has a group evaluates it, and no other one, until it is gone, or
// has the group no more. The next one gets what was kept.
func TestTurns(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	members := map[string]*coord.Seen{}
	view := func() *coord.View { return &coord.View{Members: members} }
	node := func(name, session string) *Turns {
		members[name] = &coord.Seen{Member: coord.Member{Name: name, Session: session}, Live: true}
		n := newTurns(s.Client(name), name, session, view)
		n.Have([]string{"g"})
		return n
	}
	a, b := node("a", "1"), node("b", "1")
	takes(t, a, "g", true, "")
	takes(t, b, "g", false, "")
	takes(t, b, "only of b", true, "")
	if err := a.Keep(t.Context(), "g", []byte("one")); err != nil {
		t.Fatal(err)
	}
	takes(t, b, "g", false, "one")
	takes(t, a, "g", true, "one")
	members["a"].Live = false
	takes(t, b, "g", true, "one")
	if err := a.Keep(t.Context(), "g", []byte("of a node that is back")); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("kept by the former node: %v", err)
	}
	members["a"].Live = true
	takes(t, a, "g", false, "one")
	if err := b.Keep(t.Context(), "g", []byte("two")); err != nil {
		t.Fatal(err)
	}
	members["b"].Stopping = true
	takes(t, a, "g", true, "two")

	// A node that is started again is another one.
	again := node("a", "2")
	takes(t, again, "g", true, "two")
	members["b"].Stopping = false
	again.Have(nil)
	takes(t, b, "g", false, "two")
	if err := again.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	takes(t, b, "g", true, "two")

	s.Cut("b", true)
	if _, _, err := b.Take(t.Context(), "g"); !errors.Is(err, coordtest.ErrNoAnswer) {
		t.Errorf("without servers: %v", err)
	}
}

// TestStatesOfTurns: what is too long for the bucket is not kept, and what is damaged is not used.
func TestStatesOfTurns(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	view := func() *coord.View {
		return &coord.View{Members: map[string]*coord.Seen{"a": {Member: coord.Member{Name: "a", Session: "1"}, Live: true}}}
	}
	a := newTurns(tight{s.Client("a")}, "a", "1", view)
	takes(t, a, "g", true, "")
	if err := a.Keep(t.Context(), "g", []byte("short")); err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 64<<10)
	_, _ = rand.Read(noise) // it does not fail
	for _, long := range [][]byte{noise, make([]byte, maxTurnState+1)} {
		if err := a.Keep(t.Context(), "g", long); err == nil {
			t.Errorf("%d bytes were kept", len(long))
		}
		takes(t, a, "g", true, "")
	}
	bomb, err := pack(bytes.Repeat([]byte{0}, maxTurnState))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(bomb); err != nil {
		t.Errorf("the longest: %v", err)
	}
	for _, value := range []string{"!", `{"node":"b","state":"aGVsbG8="}`, `{"node":1}`, ""} {
		s := coordtest.New(time.Now, 0)
		if _, err := s.Truth().CompareAndSet(t.Context(), turnKey("g"), []byte(value), 0); err != nil {
			t.Fatal(err)
		}
		takes(t, newTurns(s.Client("a"), "a", "1", view), "g", true, "")
	}
}

// tight takes values of 4 KiB.
type tight struct{ coord.Store }

func (s tight) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if len(value) > 4<<10 {
		return 0, coord.ErrTooLong
	}
	return s.Store.CompareAndSet(ctx, key, value, revision)
}
