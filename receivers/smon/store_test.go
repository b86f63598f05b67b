package smon

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// A served receiver is one with a peer.
type served struct {
	receivers.Receiver
	clock *clock
	conn  net.Conn
	enc   Encoder
}

func serve(t testing.TB, sink receivers.Sink, options map[string][]string) *served {
	t.Helper()
	s := &served{clock: new(clock)}
	var err error
	s.Receiver, err = Protocol.New(receivers.Config{Address: "127.0.0.1:0", Options: options, Now: s.clock.now}, sink)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	if s.conn, err = net.Dial("tcp", s.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.conn.Close() }) // it has served
	return s
}

// send sends data with one call, waits until they are read, and then lets the clock go on.
func (s *served) send(t testing.TB, after time.Duration, ds ...datum) {
	t.Helper()
	for _, d := range ds {
		if err := d.encode(&s.enc); err != nil {
			t.Fatal(err)
		}
	}
	want := s.Stats().Bytes + uint64(len(s.enc.Bytes()))
	packets := s.Stats().Packets + uint64(len(ds))
	if _, err := s.conn.Write(s.enc.Bytes()); err != nil {
		t.Fatal(err)
	}
	s.enc.Clear()
	until(t, "all is read", func() bool { st := s.Stats(); return st.Bytes == want && st.Packets == packets })
	s.clock.add(after)
}

// TestStore: rows, texts and refusals, through the whole of the store.
func TestStore(t *testing.T) {
	store := enginetest.Open(t)
	r := serve(t, sink.New(store, sink.Options{}), map[string][]string{flagKind.Name: {"net.*=DERIVE", "disk.**=COUNTER"}})
	const high = 1<<63 + 1
	n := uint64(0)
	for range 5 {
		r.send(t, 10*time.Second, number("net.bytes", high+7*n, 3), number("disk.reads", 1<<53+n), number("load", 4), textOf("state", "up"))
		n++
	}
	until(t, "all is stored", func() bool { return store.Stats().SamplesAccepted == 15 })
	rows := func(path string) []float64 {
		t.Helper()
		ref, err := store.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		rs, err := store.Fetch(context.Background(), ref, 0, receivertest.Now, receivertest.Now+40)
		if err != nil {
			t.Fatal(err)
		}
		return rs.Values[len(rs.Values)-3:]
	}
	for path, want := range map[string]float64{
		"smon/127.0.0.1/net.bytes/3": 0.7, "smon/127.0.0.1/disk.reads": 0.1, "smon/127.0.0.1/load": 4,
	} {
		if diff := cmp.Diff([]float64{want, want, want}, rows(path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	m, err := store.Metadata("smon/127.0.0.1/state")
	if err != nil || m.Text != "up" || m.Time != rra.Seconds(receivertest.Now) {
		t.Errorf("metadata %+v, %v", m, err)
	}
	// At one reading of the clock there is one value of a series; a millisecond later there may be
	// another.
	r.send(t, time.Millisecond, number("load", 5), number("load", 6))
	until(t, "one is late", func() bool { return r.Stats().Dropped[receivers.Late] == 1 })
	r.send(t, 0, number("load", 7))
	until(t, "the other is stored", func() bool { return store.Stats().SamplesAccepted == 17 })
	ref, err := store.Lookup("smon/127.0.0.1/load")
	if err != nil {
		t.Fatal(err)
	}
	if at, err := store.Last(ref); err != nil || at != rra.Seconds(receivertest.Now+50)+1000 {
		t.Errorf("last update %v, %v", at.Std(), err)
	}
}

// TestStoreDrop: a series that is dropped while its sender goes on is made again.
func TestStoreDrop(t *testing.T) {
	store := enginetest.Open(t)
	r := serve(t, sink.New(store, sink.Options{}), nil)
	const path = "smon/127.0.0.1/load"
	r.send(t, time.Second, number("load", 1))
	until(t, "a sample", func() bool { return store.Stats().SamplesAccepted == 1 })
	if err := core.Drop(t.Context(), store, path); err != nil {
		t.Fatal(err)
	}
	until(t, "the series is made again", func() bool {
		r.send(t, time.Second, number("load", 1))
		_, err := store.Lookup(path)
		return err == nil
	})
	if st := r.Stats(); st.Dropped[receivers.State] == 0 {
		t.Errorf("stats %+v, want the refused samples counted", st)
	}
}

// TestStoreLimit: the engine's limit holds for series and texts, and what is over is counted; once
// there is room the rest is made.
func TestStoreLimit(t *testing.T) {
	store := enginetest.OpenDir(t, t.TempDir(), core.Options{MaxSeries: 5})
	r := serve(t, sink.New(store, sink.Options{}), nil)
	for range 2 {
		for i := range uint64(10) {
			r.send(t, time.Second, number("load", 1, i))
		}
	}
	until(t, "five series and ten refusals", func() bool {
		return store.Stats().Series == 5 && r.Stats().Dropped[receivers.Limit] == 10
	})
	if err := core.Drop(t.Context(), store, "smon/127.0.0.1/load/0"); err != nil {
		t.Fatal(err)
	}
	until(t, "another is made", func() bool {
		r.send(t, time.Second, number("load", 1, 9))
		_, err := store.Lookup("smon/127.0.0.1/load/9")
		return err == nil
	})
}

// TestOtherKind: a series that is there keeps its kind; one that has two values takes none.
func TestOtherKind(t *testing.T) {
	store := enginetest.Open(t)
	d := define(rra.Counter, 10)
	two := define(rra.Gauge, 10)
	two.Sources = append(two.Sources, rra.DataSource{Name: "other", Heartbeat: 120, Min: two.Sources[0].Min, Max: two.Sources[0].Max})
	for path, d := range map[string]*rra.Definition{"smon/127.0.0.1/count": d, "smon/127.0.0.1/pair": two} {
		if _, err := store.Create(t.Context(), core.Spec{Path: path, Definition: d, Start: rra.Seconds(receivertest.Now - 1)}); err != nil {
			t.Fatal(err)
		}
	}
	r := serve(t, sink.New(store, sink.Options{}), nil)
	for n := range uint64(3) {
		r.send(t, 10*time.Second, number("count", 100*n), number("pair", n))
	}
	until(t, "values are stored and dropped", func() bool {
		return store.Stats().SamplesAccepted == 3 && r.Stats().Dropped[receivers.State] == 3
	})
}
