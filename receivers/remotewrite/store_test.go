package remotewrite_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/remotewrite"
	"github.com/rondo-db/rondo/receivers/sink"
)

// stored starts a receiver over the store in dir. The store is closed when the test ends.
func stored(t *testing.T, dir string, options map[string][]string) (running, *core.Store) {
	t.Helper()
	store, err := core.Open(dir, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c := testCase
	c.Options = options
	s := sink.New(store, sink.Options{})
	c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
		return remotewrite.Protocol.New(cfg, s)
	}
	return running{receivertest.Start(t, c, new(receivertest.Recorder), nil), t}, store
}

// TestRestart: after a restart a counter that has begun again counts from zero, and samples that
// are sent once more are taken as stored.
func TestRestart(t *testing.T) {
	dir, options := t.TempDir(), map[string][]string{"remotewrite-step": {"10"}}
	t.Run("before", func(t *testing.T) {
		r, _ := stored(t, dir, options)
		r.send(204, "", ts("x_total job=a", sample(0, 900.5), sample(10, 950.5)), ts("level job=a", sample(10, 0.1)))
	})
	r, store := stored(t, dir, options)
	r.send(204, "", ts("x_total job=a", sample(10, 950.5)), ts("level job=a", sample(10, 0.1)))
	r.send(400, "duplicate sample for timestamp", ts("level job=a", sample(10, 0.2)))
	r.send(400, "out of order sample", ts("level job=a", sample(5, 0.1)))
	r.send(204, "", ts("x_total job=a", sample(20, 30), sample(30, 50), sample(40, stale), sample(50, 1), sample(60, 2)))
	ref, err := store.Lookup("prometheus/a/-/x_total")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := store.Fetch(t.Context(), ref, 0, receivertest.Epoch, receivertest.Epoch+60)
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	want := []float64{5, 3, 2, nan, nan, 0.1}
	close := cmp.Comparer(func(a, b float64) bool {
		return math.Abs(a-b) < 1e-12 || math.IsNaN(a) && math.IsNaN(b)
	})
	if diff := cmp.Diff(want, rows.Values, close); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestLearnedInStore: a series whose step was guessed is replaced by one of the step that its second
// sample tells, and keeps its first sample.
func TestLearnedInStore(t *testing.T) {
	r, store := stored(t, t.TempDir(), nil)
	r.send(204, "", ts("x_total job=a", sample(40, 60)))
	r.send(204, "", ts("x_total job=a", sample(100, 120)))
	r.send(204, "", ts("x_total job=a", sample(160, 240)))
	ref, err := store.Lookup("prometheus/a/-/x_total")
	if err != nil {
		t.Fatal(err)
	}
	series, err := store.Series(ref)
	if err != nil || series.Definition.Step != 60 {
		t.Fatalf("the step is %d, want 60: %v", series.Definition.Step, err)
	}
	rows, err := store.Fetch(t.Context(), ref, 0, receivertest.Epoch+40, receivertest.Epoch+160)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{1, 2}, rows.Values); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestLearnedWithCreated: a series that was replaced because of its second sample lost what its
// counter had counted before the first one, since it was created.
func TestLearnedWithCreated(t *testing.T) {
	r, store := stored(t, t.TempDir(), nil)
	for _, x := range []remotewrite.Sample{sample(100, 60), sample(160, 180), sample(220, 360)} {
		series := ts("x_total job=a", x)
		series.Created = sample(40, 0).Time
		r.send2(204, "", series)
	}
	ref, err := store.Lookup("prometheus/a/-/x_total")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := store.Fetch(t.Context(), ref, 0, receivertest.Epoch+40, receivertest.Epoch+220)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{1, 2, 3}, rows.Values); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
