package natskv_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/internal/natstest"
)

// connect tries until the servers have chosen their leaders.
func connect(t *testing.T, o natskv.Options) *natskv.Store {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		s, err := natskv.Connect(ctx, o)
		cancel()
		if err == nil {
			t.Cleanup(func() { _ = s.Close() }) // it has no error
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestThreeServers: on three servers values are set by whoever has read the newest one and by
// nobody else, what was removed can be set again, and all of it can be listed. A Watcher and two
// Announcers work on it.
func TestThreeServers(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := natstest.Three(t)
	s := connect(t, natskv.Options{URL: c.URLs(), Bucket: "cluster"})
	ctx := t.Context()
	must := func(rev uint64, err error) uint64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return rev
	}
	first := must(s.CompareAndSet(ctx, "test.a.b", []byte("1"), 0))
	if _, err := s.CompareAndSet(ctx, "test.a.b", []byte("2"), 0); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("a key that has a value is set as if it had none: %v", err)
	}
	second := must(s.CompareAndSet(ctx, "test.a.b", []byte("2"), first))
	if _, err := s.CompareAndSet(ctx, "test.a.b", []byte("3"), first); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("a key is set that has changed: %v", err)
	}
	if err := s.Delete(ctx, "test.a.b", first); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("a key is removed that has changed: %v", err)
	}
	if err := s.Delete(ctx, "test.a.b", second); err != nil {
		t.Error(err)
	}
	if e, err := s.Get(ctx, "test.a.b"); err != nil || e.Revision != 0 {
		t.Errorf("a key that was removed: %+v, %v", e, err)
	}
	third := must(s.CompareAndSet(ctx, "test.a.b", []byte("4"), 0))
	if e, err := s.Get(ctx, "test.a.b"); err != nil || e.Revision != third || string(e.Value) != "4" {
		t.Errorf("a key that was set again: %+v, %v", e, err)
	}
	if _, err := s.CompareAndSet(ctx, "test.long", make([]byte, 2<<20), 0); !errors.Is(err, coord.ErrTooLong) {
		t.Errorf("a value that is longer than a message: %v", err)
	}
	must(s.CompareAndSet(ctx, "test.c", nil, 0))
	gone := must(s.CompareAndSet(ctx, "test.d", []byte("5"), 0))
	if err := s.Delete(ctx, "test.d", gone); err != nil {
		t.Error(err)
	}
	if all, err := s.List(ctx, "test."); err != nil || len(all) != 2 || all[0].Key != "test.a.b" || all[0].Revision != third || all[1].Key != "test.c" {
		t.Errorf("listed %v, %v", all, err)
	}
	if all, err := s.List(ctx, "nothing."); err != nil || len(all) != 0 {
		t.Errorf("listed %v, %v", all, err)
	}
	cluster(t, s, connect(t, natskv.Options{URL: c.URLs(), Bucket: "cluster"}))
}

// cluster lets two nodes meet.
func cluster(t *testing.T, a, b coord.Store) {
	m, err := placement.New(placement.MaxPartitions, 2, []placement.Member{{Name: "a"}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := coord.WriteMap(t.Context(), a, m, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := coord.WriteMap(t.Context(), b, m, 0); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("a second first map: %v", err)
	}
	for i, s := range []coord.Store{a, b} {
		an := coord.Announcer{Store: s}
		for range 3 {
			if err := an.Announce(t.Context(), coord.Member{Name: string("ab"[i]), Session: "1"}, func(coord.Member) bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, p := range []int{0, 511, 512, 4095} {
		if _, err := coord.WriteLease(t.Context(), b, p, coord.Lease{}, "b", "1"); err != nil {
			t.Fatal(err)
		}
	}
	w := coord.NewWatcher(a, coord.Times{}, nil)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		v, err := w.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var leaders []int
		for p := range v.Leases {
			if l := v.Leader(p); l != nil {
				leaders = append(leaders, p)
			}
		}
		if len(v.Members) == 2 && v.Map.Version == 1 && slices.Equal(leaders, []int{0, 511, 512, 4095}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("members %v, version %d, leaders of %v", v.Members, v.Map.Version, leaders)
		}
	}
}

// TestBucketSettings: a bucket that may lose the map is refused, with the setting.
func TestBucketSettings(t *testing.T) {
	n := natstest.One(t)
	js := natstest.JetStream(t, n.URL)
	for setting, c := range map[string]jetstream.KeyValueConfig{
		"num_replicas": {Bucket: "few"},
		"storage":      {Bucket: "memory", Storage: jetstream.MemoryStorage},
		"max_age":      {Bucket: "age", TTL: time.Hour},
	} {
		if _, err := js.CreateKeyValue(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		_, err := natskv.Connect(t.Context(), natskv.Options{URL: n.URL, Bucket: c.Bucket, AcceptFewerReplicas: setting != "num_replicas"})
		if !errors.Is(err, natskv.ErrUnfit) || !strings.Contains(err.Error(), setting) {
			t.Errorf("%s: %v", setting, err)
		}
	}
	// A server alone cannot keep three replicas: to ask again changes nothing.
	if _, err := natskv.Connect(t.Context(), natskv.Options{URL: n.URL, Bucket: "new"}); !errors.Is(err, natskv.ErrUnfit) || !strings.Contains(err.Error(), "--cluster-accept one-server") {
		t.Errorf("on a server alone: %v", err)
	}
}
