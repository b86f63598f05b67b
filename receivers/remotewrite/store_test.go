package remotewrite_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/remotewrite"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// stored starts a receiver over the store in dir. The store is closed when the test ends.
func stored(t *testing.T, dir string, options map[string][]string) (running, *core.Store) {
	t.Helper()
	return storedWith(t, dir, options, core.Options{})
}

func storedWith(t *testing.T, dir string, options map[string][]string, o core.Options) (running, *core.Store) {
	t.Helper()
	store, err := core.Open(dir, o)
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
		cfg.Held = o.Reorder > 0
		return remotewrite.Protocol.New(cfg, s)
	}
	return running{receivertest.Start(t, c, new(receivertest.Recorder), receivertest.Patient), t}, store
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

// TestTwiceInARequest: a new series may come several times in one request, also with its labels in
// another order.
func TestTwiceInARequest(t *testing.T) {
	r, store := stored(t, t.TempDir(), map[string][]string{"remotewrite-step": {"10"}})
	r.send(204, "", ts("x a=1 job=a", sample(10, 1)), ts("x a=1 job=a", sample(20, 2)), ts("x job=a a=1", sample(30, 3)), ts("y a=12 job=a", sample(10, 4)))
	for path, want := range map[string]int64{`prometheus/a/-/x{a="1"}`: 30, `prometheus/a/-/y{a="12"}`: 10} {
		ref, err := store.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := store.Info(ref)
		if err != nil {
			t.Fatal(err)
		}
		if at := info.Machine.LastUpdate(info.State.W).Unix() - receivertest.Epoch; at != want {
			t.Errorf("the last update of %s is %d, want %d", path, at, want)
		}
	}
	if n := store.Stats().Series; n != 2 {
		t.Errorf("%d series are there, want 2", n)
	}
}

// TestReorder: samples that are late within the reorder window of the store are put in order. The
// receiver refused them.
func TestReorder(t *testing.T) {
	r, store := storedWith(t, t.TempDir(), map[string][]string{"remotewrite-step": {"10"}}, core.Options{Reorder: 30 * time.Second})
	for _, at := range []int{10, 30, 20, 40, 50, 60} {
		r.send(204, "", ts("x_total job=a", sample(at, float64(at*at))), ts("level job=a", sample(at, float64(at))))
	}
	r.send(204, "", ts("level job=a", sample(60, 60)))
	r.send(400, "duplicate sample for timestamp", ts("level job=a", sample(60, 61)))
	r.send(400, "late", ts("level job=a", sample(10, 7))) // 10 s to 30 s have left the window
	for path, want := range map[string][]float64{"x_total": {50, 70, 90, 110}, "level": {30, 40, 50, 60}} {
		ref, err := store.Lookup("prometheus/a/-/" + path)
		if err == nil {
			err = store.Flush(t.Context(), []core.Ref{ref})
		}
		if err != nil {
			t.Fatal(err)
		}
		rows, err := store.Fetch(t.Context(), ref, 0, receivertest.Epoch+20, receivertest.Epoch+60)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, rows.Values); diff != "" {
			t.Errorf("rows of %s (-want +got):\n%s", path, diff)
		}
	}
}

// TestLearnedInStore: a series whose step was guessed is replaced by one of the step that its
// second sample shows, and keeps its first sample.
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

// TestLearnedRound: times are cut to the step that was learned.
func TestLearnedRound(t *testing.T) {
	r, store := stored(t, t.TempDir(), map[string][]string{"remotewrite-round": {"step"}})
	for _, step := range []int{60, 15} { // which is the guess
		name := fmt.Sprint("x", step)
		for n := range 6 {
			r.send(204, "", ts(name+" job="+name, milli(1000*step*n+7_347, float64(n))))
		}
		ref, err := store.Lookup("prometheus/" + name + "/-/" + name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := store.Info(ref)
		if err != nil {
			t.Fatal(err)
		}
		whole := rra.Seconds(int64(step))
		if at := info.Machine.LastUpdate(info.State.W); info.Definition.Step != int64(step) || at%whole != 0 {
			t.Errorf("the step is %d, want %d; the last sample is %v behind it", info.Definition.Step, step, (at % whole).Std())
		}
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

// TestSecondSampleKeepsOthers: two nodes of a cluster are two receivers over one engine. The first
// sample of a series came by node A, an hour of samples by node B, then the sender came back to A. A
// replaced the series by one that had A's first sample only.
func TestSecondSampleKeepsOthers(t *testing.T) {
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	node := func() running {
		c := testCase
		s := sink.New(store, sink.Options{})
		c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
			return remotewrite.Protocol.New(cfg, s)
		}
		return running{receivertest.Start(t, c, new(receivertest.Recorder), receivertest.Patient), t}
	}
	a, b := node(), node()
	a.send(204, "", ts("x job=a", sample(10, 10)))
	for at := 20; at <= 3600; at += 10 {
		b.send(204, "", ts("x job=a", sample(at, float64(at))))
	}
	known := func() (n int) {
		ref, err := store.Lookup("prometheus/a/-/x")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := store.Fetch(t.Context(), ref, 0, receivertest.Epoch, receivertest.Epoch+3600)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range rows.Values {
			if !math.IsNaN(v) {
				n++
			}
		}
		return n
	}
	before := known()
	a.send(204, "", ts("x job=a", sample(3610, 3610)))
	if after := known(); before < 230 || after < before {
		t.Errorf("%d rows were known before the next sample, %d are after it", before, after)
	}
}

// nodesOf returns n receivers over one store, as the nodes of a cluster have them.
func nodesOf(t *testing.T, n int) (nodes []running, store *core.Store) {
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for range n {
		c := testCase
		s := sink.New(store, sink.Options{})
		c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
			return remotewrite.Protocol.New(cfg, s)
		}
		nodes = append(nodes, running{receivertest.Start(t, c, new(receivertest.Recorder), receivertest.Patient), t})
	}
	return nodes, store
}

// TestSentAgainToAnotherNode: a request that one node has stored was answered with 400 by another
// one, which knew an older sample as the last one.
func TestSentAgainToAnotherNode(t *testing.T) {
	nodes, _ := nodesOf(t, 2)
	a, b := nodes[0], nodes[1]
	a.send(204, "", ts("x_total", sample(0, 1)), ts("y", sample(0, 1)))
	b.send(204, "", ts("x_total", sample(15, 2)), ts("y", sample(15, 1)))
	again := []remotewrite.TimeSeries{ts("x_total", sample(30, 1), sample(45, 2)), ts("y", sample(30, 3), sample(45, stale)), ts("z", sample(45, 1))}
	a.send(204, "", again...)
	b.send(204, "", again...)
	a.send(204, "", again...)
	b.send(204, "", ts("y", sample(60, 1)))
	a.send(204, "", ts("y", sample(75, 1)))
	b.send(400, "out of order", ts("y", sample(75, 2)))
	a.send(204, "", ts("y", sample(90, 1)))
	b.send(204, "", ts("x_total", sample(60, 3)), ts("y", sample(105, 1)))
	a.send(204, "", ts("y", sample(120, 1)))
	b.send(400, "1 of 2 samples stored", ts("y", sample(120, 2), sample(135, 1))) // it is not the same request
}

// TestStepBehindBalancer: three nodes get the requests of one sender in turn, one each 15 s. The
// node that made the series saw its second sample 45 s later, took that for the step of the series
// and of all later series of the job, and dropped what the other nodes had stored.
func TestStepBehindBalancer(t *testing.T) {
	nodes, store := nodesOf(t, 3)
	for i := range 12 {
		nodes[i%3].send(204, "", ts("x job=a", sample(15*i, float64(i))))
	}
	for i := range 3 {
		nodes[i].send(204, "", ts(fmt.Sprint("y job=a n=", i), sample(180, 1)))
	}
	ref, err := store.Lookup("prometheus/a/-/x")
	if err != nil {
		t.Fatal(err)
	}
	series, err := store.Series(ref)
	if err != nil {
		t.Fatal(err)
	}
	if series.Definition.Step != 15 {
		t.Errorf("a sample comes each 15 s, and the step is %d", series.Definition.Step)
	}
	for x, err := range store.Select(t.Context(), core.Query{Prefix: "prometheus/a/-/y", Order: core.ByPath}) {
		if err != nil || x.Definition.Step != 15 {
			t.Errorf("a later series of the job has the step %d: %v", x.Definition.Step, err)
		}
	}
}

// TestSecondSampleKeepsHistory: a series has had one sample of a job that sends once an hour; an
// operator gives it its history by an import. The next sample of the job replaced the series by one
// that had the first sample only.
func TestSecondSampleKeepsHistory(t *testing.T) {
	r, store := stored(t, t.TempDir(), nil)
	r.send(204, "", ts("x job=a", sample(86400, 1)))
	ref, err := store.Lookup("prometheus/a/-/x")
	if err != nil {
		t.Fatal(err)
	}
	c, err := store.Export(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	history := make([]float64, 1000)
	for i := range history {
		history[i] = float64(i)
	}
	c.Rows[0] = history
	out, err := core.Import(t.Context(), store, []core.Copy{c}, true)
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	known := func() (n int) {
		ref, err := store.Lookup("prometheus/a/-/x")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := store.Fetch(t.Context(), ref, 0, receivertest.Epoch, receivertest.Epoch+86400)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range rows.Values {
			if !math.IsNaN(v) {
				n++
			}
		}
		return n
	}
	before := known()
	r.send(204, "", ts("x job=a", sample(86400+3600, 2)))
	if after := known(); before != 1000 || after < 960 { // the archive has 1200 rows
		t.Errorf("%d rows of history were there before the second sample, %d are after it", before, after)
	}
}

// TestRefusedMakesNothing: a sample that was refused for its time made its series, with that time as
// its last update: all that came later was refused until then.
func TestRefusedMakesNothing(t *testing.T) {
	r, store := stored(t, t.TempDir(), nil)
	future, early := sample(400*86400, 1), remotewrite.Sample{Value: 1, Time: 1500}
	for version, send := range map[string]func(int, string, ...remotewrite.TimeSeries) receivertest.Answer{"1.0": r.send, "2.0": r.send2} {
		name := "temperature job=boiler version=" + version
		for _, bad := range [][]remotewrite.Sample{{future}, {early}, {early, future}, {early, sample(10, stale), future}} {
			a := send(400, "samples stored", ts(name, bad...))
			if !strings.Contains(a.Text, "too far in the future") && !strings.Contains(a.Text, "before 1970") {
				t.Errorf("%v: %q", bad, a.Text)
			}
		}
		if _, err := store.Lookup("prometheus/boiler/-/temperature{version=\"" + version + "\"}"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s: refused samples have made a series: %v", version, err)
		}
		bad := ts("bad "+name[12:], future)
		bad.Created = sample(400*86400-10, 0).Time
		send(400, "1 of 2 samples stored", bad, ts("good "+name[12:], sample(0, 1)))
		// Wrong ones around the first good ones show neither when it begins nor its step.
		send(400, "2 of 4 samples stored", ts(name, early, sample(0, 20), sample(30, 21), future))
		send(204, "", ts(name, sample(60, 22)))
	}
	for _, version := range []string{"1.0", "2.0"} {
		ref, err := store.Lookup("prometheus/boiler/-/temperature{version=\"" + version + "\"}")
		if err != nil {
			t.Fatal(err)
		}
		info, err := store.Info(ref)
		if err != nil {
			t.Fatal(err)
		}
		if at := info.Machine.LastUpdate(info.State.W); at.Unix() != receivertest.Epoch+60 || info.Definition.Step != 30 && version == "1.0" {
			t.Errorf("%s: the last update is %d, the step %d", version, at.Unix()-receivertest.Epoch, info.Definition.Step)
		}
	}
	n := 0
	for _, err := range store.Select(t.Context(), core.Query{Prefix: "prometheus/", Order: core.ByPath}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 4 {
		t.Errorf("%d series are there, want 4", n)
	}
}

// TestFutureTellsNoStep: a second sample that is refused, because it is too far in the future, set
// the step of its series.
func TestFutureTellsNoStep(t *testing.T) {
	r, store := stored(t, t.TempDir(), nil)
	r.send(204, "", ts("x job=a", sample(0, 1)))
	r.send(400, "too far in the future", ts("x job=a", sample(400*86400, 2)))
	r.send(204, "", ts("x job=a", sample(60, 3)))
	ref, err := store.Lookup("prometheus/a/-/x")
	if err != nil {
		t.Fatal(err)
	}
	if x, err := store.Series(ref); err != nil || x.Definition.Step != 60 {
		t.Errorf("the step is %d, want 60: %v", x.Definition.Step, err)
	}
}

// TestSentAgain: a request whose answer was lost is sent again, and was answered with 400 if a
// series had more than one sample in it.
func TestSentAgain(t *testing.T) {
	dir, options := t.TempDir(), map[string][]string{"remotewrite-step": {"10"}}
	request := []remotewrite.TimeSeries{
		ts("one job=a", sample(10, 1)),
		ts("two job=a", sample(0, 1), sample(10, 2)),
		ts("four_total job=a", sample(0, 5), sample(10, 7), sample(20, 1), sample(30, 4)),
		ts("ends job=a", sample(0, 5), sample(10, stale)),
		ts("off job=a", milli(347, 1), milli(10_347, 26.925507726363673)), // the offset was kept, and another sample stored
	}
	want := map[string][]float64{}
	rows := func(store *core.Store) map[string][]float64 {
		got := make(map[string][]float64)
		for x, err := range store.Select(t.Context(), core.Query{Prefix: "prometheus/", Order: core.ByPath}) {
			if err != nil {
				t.Fatal(err)
			}
			rows, err := store.Fetch(t.Context(), x.Ref, 0, receivertest.Epoch, receivertest.Epoch+60)
			if err != nil {
				t.Fatal(err)
			}
			got[x.Path] = rows.Values
		}
		return got
	}
	t.Run("before", func(t *testing.T) {
		r, store := stored(t, dir, options)
		for range 3 {
			r.send(204, "", request...)
		}
		want = rows(store)
		if s := r.Stats(); s.Dropped[receivers.Late] != 0 {
			t.Errorf("%d samples are counted as late", s.Dropped[receivers.Late])
		}
		// What is not the same request is refused, as Prometheus refuses it.
		r.send(400, "3 of 4 samples stored", ts("two job=a", sample(0, 9), sample(10, 2)), request[0], ts("ends job=a", sample(10, stale)))
		r.send(400, "duplicate sample", ts("two job=a", sample(10, 3)))
		r.send(400, "out of order", ts("two job=a", sample(0, 1)))
	})
	r, store := stored(t, dir, options) // which has seen no request yet
	r.send(204, "", request...)
	r.send(204, "", request...)
	if diff := cmp.Diff(want, rows(store), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("rows have changed (-want +got):\n%s", diff)
	}
	r.send(204, "", ts("two job=a", sample(20, 3), sample(30, 4)))
	r.send(204, "", ts("two job=a", sample(20, 3), sample(30, 4)))
}
