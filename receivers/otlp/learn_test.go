package otlp_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/otlp"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
)

// TestStep: the flag or the policy gives the step of new series. Without both, the step is the time
// between the first two points of a series, and other series of the job get the same step.
func TestStep(t *testing.T) {
	steps := func(store *core.Store) map[string]int64 {
		m := make(map[string]int64)
		for s, err := range store.Select(t.Context(), core.Query{Order: core.ByPath}) {
			if err != nil {
				t.Fatal(err)
			}
			m[s.Path] = s.Definition.Step
			if h, want := s.Definition.Sources[0].Heartbeat, max(120, 2*s.Definition.Step); h != want {
				t.Errorf("%s has the heartbeat %d, want %d", s.Path, h, want)
			}
		}
		return m
	}
	job := func(name string) *metrics.MetricsData { return request(attrs("service.name", name)) }
	send := func(r *receivertest.Running, of *metrics.MetricsData, ms ...*metrics.Metric) {
		t.Helper()
		of.ResourceMetrics[0].ScopeMetrics[0].Metrics = ms
		if a := r.Ask(marshal(t, of)); a.Status != http.StatusOK || a.Text != "" {
			t.Errorf("%d %q", a.Status, a.Text)
		}
	}
	want := func(store *core.Store, want map[string]int64) {
		t.Helper()
		if diff := cmp.Diff(want, steps(store)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}

	r, store := stored(t, sink.Options{}, nil)
	send(r, job("a"), gaugeOf("x", "", 0, 1))
	send(r, job("b"), sumOf("n", cumulative, true, 0, 10, 1, 40, 2, 41, 3))
	send(r, request(nil), gaugeOf("x", "", 0, 1), gaugeOf("y", "", 0, 1))
	want(store, map[string]int64{"otlp/a/-/x": 60, "otlp/b/-/n_total": 30, "otlp/-/-/x": 60, "otlp/-/-/y": 60})
	send(r, job("a"), gaugeOf("x", "", 10, 1), gaugeOf("y", "", 10, 1))
	send(r, job("b"), gaugeOf("y", "", 10, 1))
	send(r, request(nil), gaugeOf("x", "", 10, 1), gaugeOf("y", "", 300, 1))
	send(r, request(nil), gaugeOf("x", "", 300, 1), gaugeOf("z", "", 300, 1))
	want(store, map[string]int64{
		"otlp/a/-/x": 10, "otlp/a/-/y": 60, "otlp/b/-/n_total": 30, "otlp/b/-/y": 30, "otlp/-/-/x": 10, "otlp/-/-/y": 300, "otlp/-/-/z": 60,
	})
	send(r, job("a"), gaugeOf("y", "", 70, 1), gaugeOf("z", "", 70, 1))
	if got := steps(store); got["otlp/a/-/y"] != 10 || got["otlp/a/-/z"] != 10 {
		t.Errorf("later series of a job do not have its step: %v", got)
	}

	policy, err := sink.NewPolicy([]sink.Rule{{Step: 20}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"flag", "policy"} {
		var o sink.Options
		var flags map[string][]string
		if name == "flag" {
			flags = map[string][]string{"otlp-step": {"20"}}
		} else {
			o.Policy = policy
		}
		r, store := stored(t, o, flags)
		send(r, job("a"), gaugeOf("x", "", 0, 1))
		send(r, job("a"), gaugeOf("x", "", 60, 1))
		want(store, map[string]int64{"otlp/a/-/x": 20})
	}
}

// stored starts a receiver over a store.
func stored(t *testing.T, o sink.Options, flags map[string][]string) (*receivertest.Running, *core.Store) {
	t.Helper()
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c := suite(t)
	c.Options = flags
	s := sink.New(store, o)
	c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
		return otlp.Protocol.New(cfg, s)
	}
	return receivertest.Start(t, c, new(receivertest.Recorder), receivertest.Patient), store
}

// rows returns the step of a series and its rows between two times after receivertest.Epoch.
func rows(t *testing.T, store *core.Store, path string, from, to int) (step int64, values []float64) {
	t.Helper()
	ref, err := store.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Series(ref)
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.Fetch(t.Context(), ref, 0, receivertest.Epoch+int64(from), receivertest.Epoch+int64(to))
	if err != nil {
		t.Fatal(err)
	}
	return s.Definition.Step, got.Values
}

// TestReorder: points that are late within the reorder window of the store are put in order. Points
// of counters were refused.
func TestReorder(t *testing.T) {
	store, err := core.Open(t.TempDir(), core.Options{Reorder: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	c := suite(t)
	c.Options = map[string][]string{"otlp-step": {"10"}}
	c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
		cfg.Held = true
		return otlp.Protocol.New(cfg, sink.New(store, sink.Options{}))
	}
	r := receivertest.Start(t, c, new(receivertest.Recorder), receivertest.Patient)
	for _, at := range []int{10, 30, 20, 40, 50} {
		a := r.Ask(marshal(t, request(attrs("service.name", "a"), sumOf("n", cumulative, true, -1000, at, at*at))))
		if a.Status != http.StatusOK || a.Text != "" {
			t.Errorf("at %d: %d %q", at, a.Status, a.Text)
		}
	}
	if a := r.Ask(marshal(t, request(attrs("service.name", "a"), sumOf("n", cumulative, true, -1000, 10, 7)))); a.Status != http.StatusBadRequest {
		t.Errorf("a point that has left the window: %d %q", a.Status, a.Text)
	}
	ref, err := store.Lookup("otlp/a/-/n_total")
	if err == nil {
		err = store.Flush(t.Context(), []core.Ref{ref})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, got := rows(t, store, "otlp/a/-/n_total", 20, 50); !slices.Equal(got, []float64{50, 70, 90}) {
		t.Errorf("rows of %v", got)
	}
}

// TestLearnedInStore: a series whose step was guessed is replaced by one of the step that its
// second point shows. It keeps its first point, and what its counter had counted before.
func TestLearnedInStore(t *testing.T) {
	r, store := stored(t, sink.Options{}, nil)
	const begin = 10 // receivertest.Epoch is 10 s before a full half minute
	for n := 30; n <= 90; n += 30 {
		at := begin + n
		a := r.Ask(marshal(t, request(nil,
			sumOf("n", cumulative, true, begin, at, n*n), sumOf("delta", differences, true, at-30, at, n), gaugeOf("level", "", at, float64(n)),
		)))
		if a.Status != http.StatusOK || a.Text != "" {
			t.Fatalf("%d %q", a.Status, a.Text)
		}
	}
	for path, want := range map[string][]float64{
		"otlp/-/-/n_total": {30, 90, 150}, "otlp/-/-/delta_total": {1, 2, 3}, "otlp/-/-/level": {30, 60, 90},
	} {
		step, got := rows(t, store, path, begin, begin+90)
		if step != 30 {
			t.Errorf("%s has the step %d", path, step)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestLearnedTogether: clients that send at the same time, even the same points, lose none of them
// while the series are replaced.
func TestLearnedTogether(t *testing.T) {
	r, store := stored(t, sink.Options{}, nil)
	const clients, series, points = 4, 20, 5
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for n := 10; n <= 10*points; n += 10 {
				var ms []*metrics.Metric
				for i := range series {
					ms = append(ms, gaugeOf(fmt.Sprintf("own.%d.%d", c, i), "", n, float64(n+i)))
				}
				if a := r.Ask(marshal(t, request(nil, ms...))); a.Status != http.StatusOK || a.Text != "" {
					t.Errorf("%d %q", a.Status, a.Text)
				}
			}
		})
	}
	all.Wait()
	for c := range clients {
		for i := range series {
			path := fmt.Sprintf("otlp/-/-/own_%d_%d", c, i)
			step, got := rows(t, store, path, 0, 10*points)
			if step != 10 {
				t.Fatalf("%s has the step %d", path, step)
			}
			for k, v := range got {
				if want := float64(10*(k+1) + i); k > 0 && v != want || k == 0 && !math.IsNaN(v) && v != want {
					t.Fatalf("%s: row %d is %v, want %v", path, k, v, want)
				}
			}
		}
	}
}

// TestSecondPointKeepsOthers: two nodes of a cluster are two receivers over one engine. The first
// point of a series came by node A, an hour of points by node B, then the sender came back to A. A
// replaced the series by one that had A's first point only: all that B had acknowledged was gone.
func TestSecondPointKeepsOthers(t *testing.T) {
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	node := func() *receivertest.Running {
		c := suite(t)
		s := sink.New(store, sink.Options{})
		c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
			return otlp.Protocol.New(cfg, s)
		}
		return receivertest.Start(t, c, new(receivertest.Recorder), receivertest.Patient)
	}
	a, b := node(), node()
	send := func(r *receivertest.Running, at int) {
		t.Helper()
		if got := r.Ask(marshal(t, request(attrs("service.name", "a"), gaugeOf("x", "", at, float64(at))))); got.Status != http.StatusOK || got.Text != "" {
			t.Fatalf("%d %q", got.Status, got.Text)
		}
	}
	send(a, 10)
	for at := 20; at <= 3600; at += 10 {
		send(b, at)
	}
	known := func() (n int) {
		_, values := rows(t, store, "otlp/a/-/x", 0, 3600)
		for _, v := range values {
			if !math.IsNaN(v) {
				n++
			}
		}
		return n
	}
	before := known()
	send(a, 3610)
	if after := known(); before < 60 || after < before {
		t.Errorf("%d rows were known before the next point, %d are after it", before, after)
	}
	// A learns the step of the job from the last point of B.
	send(a, 3620)
	if got := a.Ask(marshal(t, request(attrs("service.name", "a"), gaugeOf("y", "", 3620, 1)))); got.Status != http.StatusOK || got.Text != "" {
		t.Fatalf("%d %q", got.Status, got.Text)
	}
	if step, _ := rows(t, store, "otlp/a/-/y", 0, 0); step != 10 {
		t.Errorf("later series of the job have the step %d, want 10", step)
	}
}

// TestNewSeriesFail: when the store makes no series, the whole request is to be sent again. The
// values of the series that there are were taken for late ones then.
func TestNewSeriesFail(t *testing.T) {
	var now atomic.Int64
	now.Store(receivertest.Now)
	f := failing{new(receivertest.Recorder), new(failure)}
	c := suite(t)
	c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
		cfg.Now = func() time.Time { return time.Unix(now.Load(), 0) }
		return otlp.Protocol.New(cfg, f)
	}
	r := receivertest.Start(t, c, new(receivertest.Recorder), receivertest.Patient)
	send := func(want int, ms ...*metrics.Metric) {
		t.Helper()
		if a := r.Ask(marshal(t, request(attrs("service.name", "a"), ms...))); a.Status != want || want == http.StatusOK && a.Text != "" {
			t.Errorf("%d %q, want %d", a.Status, a.Text, want)
		}
	}
	send(http.StatusOK, sumOf("n", cumulative, true, 0, 10, 1, 20, 2))
	f.makesNone.Store(true)
	send(http.StatusServiceUnavailable, sumOf("n", cumulative, true, 0, 30, 3), gaugeOf("new", "", 30, 1))
	f.makesNone.Store(false)
	now.Add(1)
	send(http.StatusOK, sumOf("n", cumulative, true, 0, 30, 3), gaugeOf("new", "", 30, 1))
}
