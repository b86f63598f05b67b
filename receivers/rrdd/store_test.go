package rrdd

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
)

// A describer is a Recorder that remembers the order of what it got.
type describer struct {
	*receivertest.Recorder
	mu  sync.Mutex // guards what follows
	all []receivers.Description
}

func (d *describer) Describe(ctx context.Context, ds []receivers.Description) ([]error, error) {
	d.mu.Lock()
	d.all = append(d.all, ds...)
	d.mu.Unlock()
	return d.Recorder.Describe(ctx, ds)
}

// serveStore serves into a store until the function it returns is called.
func serveStore(t testing.TB, store *core.Store) (receivers.Receiver, func()) {
	t.Helper()
	sink := sink.New(store, sink.Options{})
	r, err := protocol(nil).New(receivers.Config{Address: t.TempDir(), MaxFuture: -1}, sink)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(stop)
	rest(r)
	return r, stop
}

// TestStore: the files of the OCaml writer, one after the other, through the whole of the store.
func TestStore(t *testing.T) {
	store := enginetest.Open(t)
	r, stop := serveStore(t, store)
	for _, name := range []string{"v2-xcp-rrdd-0.bin", "v2-xcp-rrdd-0.bin", "v2-xcp-rrdd-1.bin", "v2-xcp-rrdd-2.bin"} {
		write(t, r, "demo", capture(t, name))
		turn(t, r)
	}
	stop()
	if st, got := r.Stats(), store.Stats(); st.Samples != 12 || got.SamplesAccepted != 12 || got.Series != 4 || st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("%+v, %d stored, %d series", st, got.SamplesAccepted, got.Series)
	}
	// The row of the seconds 5 to 10: a twentieth of it lies between the readings at 0.25 and 5.25,
	// the rest between those at 5.25 and 10.75.
	row := func(first, second float64) float64 { return (0.25*first + 4.75*second) / 5 }
	for path, want := range map[string]float64{
		"rrdd/demo/host/test_int1": row(1235, 1236),
		"rrdd/demo/sr/a1b2c3d4-0000-4000-8000-00000000beef/io_throughput_total": row(5778/5., 5878/5.5),
		"rrdd/demo/vm/5f6c1a9e-0000-4000-8000-0123456789ab/cpu0":                row(1/5., 1/5.5),
		"rrdd/demo/host/nan_gauge":                                              math.NaN(),
	} {
		ref, err := store.Lookup(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		rows, err := store.Fetch(t.Context(), ref, 0, 1700000005, 1700000010)
		if err != nil || len(rows.Values) != 1 {
			t.Errorf("%s: %v, %v", path, rows, err)
			continue
		}
		if got := rows.Values[0]; math.Abs(got-want) > 1e-9*want || math.IsNaN(got) != math.IsNaN(want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// TestStoreDrop: a series that is dropped while its plugin goes on writing is made again, metadata
// and all.
func TestStoreDrop(t *testing.T) {
	store := enginetest.Open(t)
	r, _ := serveStore(t, store)
	const path = "rrdd/p/host/a"
	n := 0
	step := func() {
		f := gauges(n, 1, "a")
		f.Sources[0].Units = "B"
		n++
		write(t, r, "p", encode(t, f))
		turn(t, r)
	}
	described := func() bool {
		m, err := store.Metadata(path)
		if err != nil {
			t.Fatal(err)
		}
		return len(m.Attributes) == 1 && m.Attributes[0] == core.Label{Name: "units", Value: "B"}
	}
	step()
	step()
	until(t, "two samples and their units", func() bool { return store.Stats().SamplesAccepted == 2 && described() })
	if err := core.Drop(t.Context(), store, path); err != nil {
		t.Fatal(err)
	}
	until(t, "the series is made again", func() bool {
		step()
		_, err := store.Lookup(path)
		return err == nil
	})
	until(t, "it has its units", described)
	if st := r.Stats(); st.Dropped[receivers.State] == 0 {
		t.Errorf("%+v, want the refused samples counted", st)
	}
	late := r.Stats().Dropped[receivers.Late] // of samples that have followed the series
	write(t, r, "p", encode(t, gauges(0, 1, "a")))
	turn(t, r)
	until(t, "a late sample is counted", func() bool { return r.Stats().Dropped[receivers.Late] > late })
}

// TestStoreRestart: labels that have changed while nobody read are the file's.
func TestStoreRestart(t *testing.T) {
	store := enginetest.Open(t)
	for n, units := range []string{"B", "kB"} {
		r, stop := serveStore(t, store)
		f := gauges(n, 1, "a")
		f.Sources[0].Units = units
		write(t, r, "p", encode(t, f))
		turn(t, r)
		stop()
		ref, err := store.Lookup("rrdd/p/host/a")
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Series(ref)
		if err != nil {
			t.Fatal(err)
		}
		if want := (core.Label{Name: "units", Value: units}); s.Labels[3] != want {
			t.Errorf("labels %v, want %v", s.Labels, want)
		}
	}
}

// TestResolveFails: while the store does not answer, files are counted as not stored, and nothing
// waits more than once a turn.
func TestResolveFails(t *testing.T) {
	now := time.Unix(receivertest.Now, 0)
	r := start(t, func(c *receivers.Config) { c.Now = func() time.Time { return now } }, nil)
	rest(r.Receiver)
	sink := &failing{Recorder: r.Recorder, err: errors.New("no")}
	s := r.Receiver.(*stepped)
	s.sink, s.asks = sink, receivers.NewResolver(sink, s.cfg, "rrdd")
	next := func() {
		now = now.Add(time.Second)
		turn(t, r.Receiver)
	}
	for _, name := range []string{"p", "q"} {
		write(t, r.Receiver, name, encode(t, gauges(0, 1, "a", "b")))
	}
	next()
	if sink.calls != 1 {
		t.Errorf("%d calls of Resolve in a turn, want 1", sink.calls)
	}
	equal(t, "drops", "overload 2, failed 2", drops(r))
	// The one that failed is the last of the next turn.
	for n := range 2 {
		for _, name := range []string{"p", "q"} {
			write(t, r.Receiver, name, encode(t, gauges(n+2, 1, "a", "b")))
		}
		next()
	}
	equal(t, "asked for", []string{"rrdd/p/host/a", "rrdd/q/host/a", "rrdd/p/host/a"}, sink.paths)
	sink.err = nil
	for _, name := range []string{"p", "q"} {
		write(t, r.Receiver, name, encode(t, gauges(9, 1, "a", "b")))
	}
	next()
	if got := samples(t, r, 0); len(got) != 4 {
		t.Errorf("%q", got)
	}
}

type failing struct {
	*receivertest.Recorder
	err   error
	calls int
	paths []string // the first of each call
}

func (f *failing) Resolve(ctx context.Context, reqs []receivers.Request) error {
	f.calls++
	f.paths = append(f.paths, reqs[0].Path)
	if f.err != nil {
		return f.err
	}
	return f.Recorder.Resolve(ctx, reqs)
}

// TestRefusedSeries: a series that the store does not make is asked for again after a while, and
// the others are not held up.
func TestRefusedSeries(t *testing.T) {
	now := time.Unix(receivertest.Now, 0)
	rec := &receivertest.Recorder{MaxSeries: 1}
	r := receivertest.Start(t, receivertest.Case{Protocol: protocol(nil)}, rec, func(c *receivers.Config) {
		c.Now = func() time.Time { return now }
	})
	rest(r.Receiver)
	for n := range 3 {
		write(t, r.Receiver, "p", encode(t, gauges(n, 1, "a", "b")))
		turn(t, r.Receiver)
	}
	equal(t, "drops", "limit 3", drops(r))
	rest(r.Receiver)
	rec.MaxSeries = 2
	now = now.Add(10 * time.Second)
	write(t, r.Receiver, "p", encode(t, gauges(3, 1, "a", "b")))
	turn(t, r.Receiver)
	equal(t, "drops", "limit 3", drops(r))
	if got := samples(t, r, 0); len(got) != 5 {
		t.Errorf("%q", got)
	}
}

func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}
