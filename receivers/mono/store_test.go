package mono

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
)

// TestStoreCaptures: the captures of a real agent, through the whole of the store, give its series
// with their last updates. Read again, they change nothing.
func TestStoreCaptures(t *testing.T) {
	store := enginetest.Open(t)
	sink := sink.New(store, sink.Options{})
	want := wantSamples(t, "agent-file.bin", "agent-file")
	n := int64(0)
	for _, s := range want {
		n += int64(len(s))
	}
	read := func() receivers.Stats {
		t.Helper()
		c := receivers.Config{MaxFuture: -1, Options: map[string][]string{flagFile.Name: {filepath.Join(captures, "agent-file.bin")}}}
		r, err := newServer(c, sink)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- r.Serve(ctx) }()
		eventually(t, "the file is stored", func() bool { return r.Stats().Samples == uint64(n) })
		cancel()
		if err := <-served; err != nil {
			t.Fatal(err)
		}
		return r.Stats()
	}
	if st := read(); st.Dropped != [receivers.NumReasons]uint64{} || st.Samples != uint64(n) {
		t.Errorf("stats %+v, want %d samples and no drop", st, n)
	}
	if st := read(); st.Dropped[receivers.Late] != uint64(n) {
		t.Errorf("read again: stats %+v, want %d late", st, n)
	}
	if st := store.Stats(); int64(st.SamplesAccepted) != n || st.Series != int64(len(want)) {
		t.Errorf("%d samples stored in %d series, want %d in %d", st.SamplesAccepted, st.Series, n, len(want))
	}
	for path, samples := range want {
		ref, err := store.Lookup(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got, err := store.Last(ref); err != nil || got != samples[len(samples)-1].At {
			t.Errorf("%s: last update %v, %v, want %v", path, got.Std(), err, samples[len(samples)-1].At.Std())
		}
		if m, err := store.Metadata(path); err != nil || len(m.Attributes) != 4 {
			t.Errorf("%s: metadata %+v, %v", path, m, err)
		}
	}
}

// TestStoreDrop: a series that is dropped while agents go on sending is made again, whichever of
// them comes first.
func TestStoreDrop(t *testing.T) {
	store := enginetest.Open(t)
	r := startSink(t, sink.New(store, sink.Options{}), nil)
	paths := []string{"mono/127.0.0.1/Mono Custom/suite", "mono/127.0.0.1#2/Mono Custom/suite"}
	n := 0
	next := func() (b []byte) { n++; return message(n) }
	first := send(t, r, append(suite(t).Opening, next()...))
	eventually(t, "the first sample is stored", func() bool { return store.Stats().SamplesAccepted == 1 })
	second := send(t, r, append(suite(t).Opening, next()...))
	eventually(t, "the second sample is stored", func() bool { return store.Stats().SamplesAccepted == 2 })
	for _, path := range paths {
		if err := core.Drop(t.Context(), store, path); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both series are made again", func() bool {
		for i, conn := range []interface{ Write([]byte) (int, error) }{first, second} {
			if _, err := conn.Write(next()); err != nil {
				t.Fatalf("agent %d: %v", i, err)
			}
		}
		for _, path := range paths {
			if _, err := store.Lookup(path); err != nil {
				return false
			}
		}
		return true
	})
	if st := r.Stats(); st.Dropped[receivers.State] == 0 {
		t.Errorf("stats %+v, want the refused samples counted", st)
	}
}

// TestStoreLimit: the engine's limit holds, and what is over is counted at every sample.
func TestStoreLimit(t *testing.T) {
	store := enginetest.OpenDir(t, t.TempDir(), core.Options{MaxSeries: 3})
	r := startSink(t, sink.New(store, sink.Options{}), nil)
	var cs []Counter
	var values []Value
	for i := range int16(5) {
		cs = append(cs, Counter{Category: Custom, Name: string(rune('a' + i)), Index: i})
		values = append(values, Value{Index: i, Bits: uint64(i)})
	}
	b := must(AppendHello(nil, cs))
	for n := range 4 {
		b = must(AppendSample(b, at(n), values))
	}
	send(t, r, b)
	eventually(t, "all is stored or counted", func() bool {
		return store.Stats().SamplesAccepted == 12 && r.Stats().Dropped[receivers.Limit] == 8
	})
}

// TestSampleAllocates: a sample costs no memory once its series are known.
func TestSampleAllocates(t *testing.T) {
	a, samples := workload(t, 100, 0)
	defer a.Queue.Stop()
	feed := a.feeder(t)
	run := func() {
		for _, b := range samples {
			feed(b)
		}
	}
	for range 100 {
		run()
	}
	// Two batches may still grow, which they do a few times in all.
	if n := testing.AllocsPerRun(1000, run); n > 0 {
		t.Errorf("%v allocations for %d samples of 100 counters, want none", n, len(samples))
	}
	if st := a.s.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("stats %+v, want no drop", st)
	}
}
