package clustered

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
)

// TestFound starts a node while the servers do not answer. It waits for them, and gives up after a
// while.
func TestFound(t *testing.T) {
	var said strings.Builder
	servers := coordtest.New(time.Now, 0)
	o := &Options{Node: "a", Partitions: 4, Replicas: 1, Logger: slog.New(slog.NewTextHandler(&said, nil))}
	o.Name = "main"
	s := servers.Client("a")
	servers.Cut("a", true)
	if err := found(t.Context(), s, o, 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "cluster main") {
		t.Errorf("servers that never answer: got %v", err)
	}
	if n := strings.Count(said.String(), "tried again"); n != 1 {
		t.Errorf("it was said %d times that it is tried again:\n%s", n, said.String())
	}
	for _, name := range []string{"a", "b", "c"} {
		a := &coord.Announcer{Store: servers.Truth()}
		if err := a.Announce(t.Context(), coord.Member{Name: name, Session: "1"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	time.AfterFunc(500*time.Millisecond, func() { servers.Cut("a", false) })
	if err := found(t.Context(), s, o, time.Minute); err != nil {
		t.Fatalf("servers that answer later: %v", err)
	}
	w := coord.NewWatcher(servers.Truth(), coord.Times{}, time.Now)
	if v, err := w.Look(t.Context()); err != nil || len(v.Map.Partitions) != 4 || v.Map.Cluster == "" {
		t.Errorf("the map: %+v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	servers.Cut("a", true)
	if err := found(ctx, s, o, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: got %v", err)
	}
}

// TestNoSecondCluster: a node without a cluster makes none where a node says that it is in one, or
// where there are leases: the servers have lost the map.
func TestNoSecondCluster(t *testing.T) {
	for name, trace := range map[string]func(s coord.Store) error{
		"a node of the cluster": func(s coord.Store) error {
			a := &coord.Announcer{Store: s}
			return a.Announce(t.Context(), coord.Member{Name: "old", Session: "1", Cluster: "one"}, nil)
		},
		"a lease": func(s coord.Store) error {
			_, err := coord.WriteLease(t.Context(), s, 3, coord.Lease{}, coord.Lease{}.For("old", "1"))
			return err
		},
	} {
		servers := coordtest.New(time.Now, 0)
		o := &Options{Node: "a", Partitions: 4, Replicas: 1, Logger: slog.New(slog.DiscardHandler)}
		if err := trace(servers.Truth()); err != nil {
			t.Fatal(err)
		}
		for _, node := range []string{"a", "b", "c"} {
			a := &coord.Announcer{Store: servers.Truth()}
			if err := a.Announce(t.Context(), coord.Member{Name: node, Session: "1"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		w := coord.NewWatcher(servers.Truth(), coord.Times{}, time.Now)
		for range 3 {
			if done, err := foundOnce(t.Context(), w, servers.Truth(), o, true); done || !errors.Is(err, coord.ErrMapLost) {
				t.Errorf("%s: %v, %v", name, done, err)
			}
		}
		if e, err := servers.Truth().Get(t.Context(), "all.map"); err != nil || e.Revision != 0 {
			t.Errorf("%s: there is a map: %+v, %v", name, e, err)
		}
	}
}

// TestToken: the first node draws the token, and others take it.
func TestToken(t *testing.T) {
	s := coordtest.New(time.Now, 0).Truth()
	first, err := sharedToken(t.Context(), s)
	if err != nil || len(first) < 40 {
		t.Fatalf("%q, %v", first, err)
	}
	if second, err := sharedToken(t.Context(), s); err != nil || second != first {
		t.Errorf("the second node: %q, %v", second, err)
	}
}
