package natskv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
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

// TestThreeServers runs what needs three servers on the same ones, each with a bucket of its own.
func TestThreeServers(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := natstest.Three(t)
	t.Run("Live", func(t *testing.T) {
		for name, test := range map[string]func(t *testing.T, c *natstest.Cluster){"Values": values, "ReadsWhatItWrote": readsWhatItWrote} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, c)
			})
		}
	})
	t.Run("Killed", func(t *testing.T) { killedServers(t, c) })
}

// values: values are set by whoever has read the newest one and by nobody else, what was removed can
// be set again, and all of it can be listed. A Watcher and two Announcers work on it.
func values(t *testing.T, c *natstest.Cluster) {
	s := connect(t, natskv.Options{URL: c.URLs(), Bucket: "cluster"})
	ctx := t.Context()
	must := func(rev uint64, err error) uint64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return rev
	}
	first := must(s.CompareAndSet(ctx, "all.test.a.b", []byte("1"), 0))
	if _, err := s.CompareAndSet(ctx, "all.test.a.b", []byte("2"), 0); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("a key that has a value is set as if it had none: %v", err)
	}
	second := must(s.CompareAndSet(ctx, "all.test.a.b", []byte("2"), first))
	if _, err := s.CompareAndSet(ctx, "all.test.a.b", []byte("3"), first); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("a key is set that has changed: %v", err)
	}
	if err := s.Delete(ctx, "all.test.a.b", first); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("a key is removed that has changed: %v", err)
	}
	if err := s.Delete(ctx, "all.test.a.b", second); err != nil {
		t.Error(err)
	}
	if e, err := s.Get(ctx, "all.test.a.b"); err != nil || e.Revision != 0 {
		t.Errorf("a key that was removed: %+v, %v", e, err)
	}
	third := must(s.CompareAndSet(ctx, "all.test.a.b", []byte("4"), 0))
	if e, err := s.Get(ctx, "all.test.a.b"); err != nil || e.Revision != third || string(e.Value) != "4" {
		t.Errorf("a key that was set again: %+v, %v", e, err)
	}
	if _, err := s.CompareAndSet(ctx, "all.test.long", make([]byte, 2<<20), 0); !errors.Is(err, coord.ErrTooLong) {
		t.Errorf("a value that is longer than a message: %v", err)
	}
	must(s.CompareAndSet(ctx, "all.test.c", nil, 0))
	gone := must(s.CompareAndSet(ctx, "all.test.d", []byte("5"), 0))
	if err := s.Delete(ctx, "all.test.d", gone); err != nil {
		t.Error(err)
	}
	if all, err := s.List(ctx, "all.test."); err != nil || len(all) != 2 || all[0].Key != "all.test.a.b" || all[0].Revision != third || all[1].Key != "all.test.c" {
		t.Errorf("listed %v, %v", all, err)
	}
	if all, err := s.List(ctx, "all.nothing."); err != nil || len(all) != 0 {
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
		if _, err := coord.WriteLease(t.Context(), b, p, coord.Lease{}, coord.Lease{}.For("b", "1")); err != nil {
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
	t.Parallel() // most of it is waiting
	n := natstest.One(t)
	js := natstest.JetStream(t, n.URL)
	for setting, c := range map[string]jetstream.KeyValueConfig{
		"num_replicas": {Bucket: "few"},
		"storage":      {Bucket: "memory", Storage: jetstream.MemoryStorage},
		"max_age":      {Bucket: "age", TTL: time.Hour},
		"allow_direct": {Bucket: "direct"},
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

// readsWhatItWrote: each of three stores is connected to another server; two of these follow.
// Whatever a store has written or removed shows at its next read.
func readsWhatItWrote(t *testing.T, c *natstest.Cluster) {
	connect(t, natskv.Options{URL: c.URLs(), Bucket: "b"}) // all servers are ready
	var all sync.WaitGroup
	for i, n := range c.Nodes {
		s := connect(t, natskv.Options{URL: n.URL, Bucket: "b"})
		all.Go(func() {
			key, ctx := fmt.Sprintf("all.of.%d.key", i), t.Context()
			for round := range 100 {
				rev, err := s.CompareAndSet(ctx, key, []byte{byte(round)}, 0)
				if err != nil {
					t.Errorf("set %s: %v", key, err)
					return
				}
				list, err := s.List(ctx, fmt.Sprintf("all.of.%d.", i))
				if err != nil || len(list) != 1 || list[0].Revision != rev {
					t.Errorf("%s at revision %d: listed %v, %v", key, rev, list, err)
				}
				err = s.Delete(ctx, key, rev)
				for try := 0; errors.Is(err, coord.ErrConflict) && try < 20; try++ {
					// A busy server says so of the write before, which it has acknowledged.
					time.Sleep(50 * time.Millisecond)
					err = s.Delete(ctx, key, rev)
				}
				if err != nil {
					t.Errorf("remove %s: %v", key, err)
					return
				}
				if e, err := s.Get(ctx, key); err != nil || e.Revision != 0 {
					t.Errorf("%s was removed: got %v, %v", key, e, err)
				}
			}
		})
	}
	all.Wait()
}

// killedServers: whichever server is killed, the others bring what is written within some
// seconds. The server that sends a Watch is one of them, and the client notices late that it ended.
func killedServers(t *testing.T, c *natstest.Cluster) {
	s := connect(t, natskv.Options{URL: c.URLs(), Bucket: "killed"})
	rev := uint64(0)
	for i := range c.Nodes {
		c.Nodes[i].Kill()
		for deadline, value := time.Now().Add(time.Minute), fmt.Append(nil, i); ; {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			r, err := s.CompareAndSet(ctx, "all.x", value, rev)
			if errors.Is(err, coord.ErrConflict) { // an attempt without an answer was stored
				var e coord.Entry
				e, err = s.Get(ctx, "all.x")
				r = e.Revision
			}
			var all []coord.Entry
			if err == nil {
				rev = r
				all, err = s.List(ctx, "all.")
			}
			cancel()
			if err == nil && len(all) == 1 && all[0].Revision == rev {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("server %d was killed: %v, %v", i, all, err)
			}
		}
		if c.Nodes[i] = c.Again[i](); c.Nodes[i] == nil {
			t.Fatal("a killed server does not start again")
		}
	}
}

// TestDeletedBucket: a bucket that was deleted is an error that says so, and nobody makes it.
func TestDeletedBucket(t *testing.T) {
	t.Parallel() // most of it is waiting
	n := natstest.One(t)
	s := connect(t, natskv.Options{URL: n.URL, Bucket: "b", AcceptFewerReplicas: true})
	if _, err := s.CompareAndSet(t.Context(), "all.x", []byte("old"), 0); err != nil {
		t.Fatal(err)
	}
	if err := natstest.JetStream(t, n.URL).DeleteStream(t.Context(), natskv.Stream("b")); err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(t.Context(), "all."); !errors.Is(err, natskv.ErrNoBucket) {
		t.Errorf("listed %v, %v", all, err)
	}
	_, err := natskv.Connect(t.Context(), natskv.Options{URL: n.URL, Bucket: "b", AcceptFewerReplicas: true, MustExist: true})
	if !errors.Is(err, natskv.ErrNoBucket) {
		t.Error(err)
	}
}

// TestPermissions: a user who may do what docs/cluster.md says of the bucket, and nothing else, can
// use it.
func TestPermissions(t *testing.T) {
	t.Parallel() // most of it is waiting
	dir := t.TempDir()
	n := natstest.Start(t, dir, "n1", "127.0.0.1:-1", fmt.Sprintf("jetstream { store_dir: %q }\n", dir)+`authorization { users: [ { user: u, password: p, permissions: {
		publish: ["$JS.API.INFO", "$JS.API.STREAM.CREATE.*", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*", "$JS.API.CONSUMER.*.KV_b.>", "$JS.FC.KV_b.>", "$KV.b.>"]
		subscribe: ["_INBOX.>"] } } ] }`)
	if n == nil {
		t.Fatal("nats-server ended by itself: " + natstest.LogOf(dir))
	}
	var log bytes.Buffer
	s := connect(t, natskv.Options{
		URL: strings.Replace(n.URL, "nats://", "nats://u:p@", 1), Bucket: "b", AcceptFewerReplicas: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	rev, err := s.CompareAndSet(t.Context(), "all.x", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if rev, err = s.CompareAndSet(t.Context(), "all.x", []byte("1"), rev); err != nil {
			t.Fatal(err)
		}
		if all, err := s.List(t.Context(), "all."); err != nil || len(all) != 1 || all[0].Revision != rev {
			t.Fatal(all, err)
		}
	}
	if err := s.Delete(t.Context(), "all.x", rev); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil || log.Len() > 0 {
		t.Errorf("%v; logged: %s", err, &log)
	}
}
