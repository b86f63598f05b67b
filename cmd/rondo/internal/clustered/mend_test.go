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

// TestNoSecondCluster: a node without a cluster makes none where a node says that it is in one, or
// where there are leases: the servers have lost the map.
func TestNoSecondCluster(t *testing.T) {
	for name, trace := range map[string]func(s coord.Store) error{
		"a node of the cluster": func(s coord.Store) error {
			a := &coord.Announcer{Store: s}
			return a.Announce(t.Context(), coord.Member{Name: "old", Session: "1", Cluster: "one"}, nil)
		},
		"a lease": func(s coord.Store) error {
			_, err := coord.WriteLease(t.Context(), s, 3, coord.Lease{}, "old", "1")
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
			if done, err := foundOnce(t.Context(), w, servers.Truth(), o, true); done || !errors.Is(err, errMapLost) {
				t.Errorf("%s: %v, %v", name, done, err)
			}
		}
		if e, err := servers.Truth().Get(t.Context(), "all.map"); err != nil || e.Revision != 0 {
			t.Errorf("%s: there is a map: %+v, %v", name, e, err)
		}
	}
}

// TestToken: the first node draws the token. If the servers lose it, a node that has it on its disk
// writes it again, and one that was in no cluster waits for that.
func TestToken(t *testing.T) {
	servers := coordtest.New(time.Now, 0)
	s, dir := servers.Truth(), t.TempDir()
	first, err := sharedToken(t.Context(), s, dir, false)
	if err != nil || len(first) < 40 {
		t.Fatalf("%q, %v", first, err)
	}
	other := t.TempDir()
	if second, err := sharedToken(t.Context(), s, other, false); err != nil || second != first {
		t.Errorf("the second node: %q, %v", second, err)
	}
	if _, err := coord.WriteLease(t.Context(), s, 0, coord.Lease{}, "a", "1"); err != nil {
		t.Fatal(err)
	}
	servers.Lose(keyToken)
	if got, err := sharedToken(t.Context(), s, t.TempDir(), false); !errors.Is(err, errTokenLost) {
		t.Errorf("a new node draws another token: %q, %v", got, err)
	}
	if got, err := sharedToken(t.Context(), s, other, false); err != nil || got != first {
		t.Errorf("a node that has it: %q, %v", got, err)
	}
	if got, err := sharedToken(t.Context(), s, t.TempDir(), false); err != nil || got != first {
		t.Errorf("a new node after that: %q, %v", got, err)
	}
	// Nobody has it: the cluster had certificates until now, for example.
	servers.Lose(keyToken)
	if got, err := sharedToken(t.Context(), s, t.TempDir(), true); err != nil || got == first {
		t.Errorf("a node that has waited: %q, %v", got, err)
	}
}

// damaged has all values damaged.
type damaged struct{ coord.Store }

func (d damaged) Get(ctx context.Context, key string) (coord.Entry, error) {
	e, err := d.Store.Get(ctx, key)
	e.Value, e.Damaged = nil, e.Revision > 0
	return e, err
}

// TestDamagedValuesAreTold: a token, or an origin, that is damaged is not taken for an empty one.
func TestDamagedValuesAreTold(t *testing.T) {
	s := coordtest.New(time.Now, 0).Client("a")
	for _, key := range []string{keyToken, keyOrigin} {
		if _, err := s.CompareAndSet(t.Context(), key, []byte("{}"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := keptToken(t.Context(), damaged{s}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("token: %v", err)
	}
	if _, _, err := origin(t.Context(), damaged{s}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("origin: %v", err)
	}
}
