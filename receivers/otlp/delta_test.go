package otlp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/otlp"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

const (
	cumulative  = metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	differences = metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
)

// A failing is a sink that stores nothing while it fails, and makes no series while makesNone.
type failing struct {
	receivers.Sink
	*failure
}

// A failure is shared by the nodes of a cluster.
type failure struct{ fails, makesNone atomic.Bool }

func (f failing) Submit(ctx context.Context, b *core.Batch) (receivers.Pending, error) {
	if f.fails.Load() {
		return nil, core.ErrUnavailable
	}
	return f.Sink.Submit(ctx, b)
}

// nodes starts n receivers over one store, as the nodes of a cluster have them.
func nodes(t *testing.T, n int, options ...string) (*core.Store, []*receivertest.Running, *failure) {
	t.Helper()
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	f := new(failure)
	var at []*receivertest.Running
	for range n {
		c := suite(t)
		c.Options = make(map[string][]string)
		for i := 0; i < len(options); i += 2 {
			c.Options[options[i]] = []string{options[i+1]}
		}
		s := sink.New(store, sink.Options{})
		c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
			return otlp.Protocol.New(cfg, failing{s, f})
		}
		at = append(at, receivertest.Start(t, c, new(receivertest.Recorder), receivertest.Patient))
	}
	return store, at, f
}

func (f failing) Resolve(ctx context.Context, reqs []receivers.Request) error {
	if f.makesNone.Load() {
		return core.ErrUnavailable
	}
	return f.Sink.Resolve(ctx, reqs)
}

// total returns what the rows of a series have counted between two times after Epoch.
func total(t *testing.T, store *core.Store, path string, from, to int) (sum float64) {
	t.Helper()
	step, values := rows(t, store, path, from, to)
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v * float64(step)
		}
	}
	return sum
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6*max(1, math.Abs(b)) }

func taken(t *testing.T, r *receivertest.Running, m ...*metrics.Metric) {
	t.Helper()
	if a := r.Ask(marshal(t, request(attrs("service.name", "a"), m...))); a.Status != http.StatusOK || a.Text != "" {
		t.Errorf("%d %q", a.Status, a.Text)
	}
}

func refused(t *testing.T, r *receivertest.Running, why string, m ...*metrics.Metric) {
	t.Helper()
	if a := r.Ask(marshal(t, request(attrs("service.name", "a"), m...))); a.Status != http.StatusBadRequest || !strings.Contains(a.Text, why) {
		t.Errorf("%d %q, want 400 and %s", a.Status, a.Text, why)
	}
}

// histogramOf returns a histogram of deltas with one bucket bound.
func histogramOf(start, at, below, above int) *metrics.Metric {
	sum := float64(below + 3*above)
	return &metrics.Metric{Name: "h", Data: &metrics.Metric_Histogram{Histogram: &metrics.Histogram{
		AggregationTemporality: differences, DataPoints: []*metrics.HistogramDataPoint{{
			StartTimeUnixNano: nanos(start), TimeUnixNano: nanos(at), Count: uint64(below + above), Sum: &sum,
			BucketCounts: []uint64{uint64(below), uint64(above)}, ExplicitBounds: []float64{1},
		}},
	}}}
}

// TestDeltasOfSeveralNodes: each node added deltas to the sum that it had handed over itself last,
// so that with two nodes half of what was acknowledged was lost.
func TestDeltasOfSeveralNodes(t *testing.T) {
	next := map[string]func(i, nodes int) int{
		"in turn":           func(i, n int) int { return i % n },
		"by chance":         func(i, n int) int { return rand.New(rand.NewPCG(uint64(i), 1)).IntN(n) },
		"away and back":     func(i, n int) int { return min(i/20, 1) * max(0, 1-i/40) % n },
		"from one to other": func(i, n int) int { return i * n / 62 },
	}
	for how, node := range next {
		for _, n := range []int{1, 2, 3} {
			for _, step := range []string{"10", ""} {
				t.Run(fmt.Sprintf("%s/nodes=%d/step=%s", how, n, step), func(t *testing.T) {
					store, at, _ := nodes(t, n, "otlp-step", step)
					if step == "" { // each node learns it from a series of its own
						for k, r := range at {
							taken(t, r, gaugeOf(fmt.Sprintf("level%d", k), "", 1, 1), gaugeOf(fmt.Sprintf("level%d", k), "", 11, 1))
						}
					}
					for i := 1; i <= 61; i++ {
						from, to, n := 10*i+3, 10*i+13, 1
						if i == 61 {
							n, to = 0, 680 // it closes the row
						}
						told := from
						if i%2 == 0 {
							told = -receivertest.Epoch // it does not say since when
						}
						taken(t, at[node(i, len(at))], sumOf("n", differences, true, from, to, 100*n), sumOf("none", differences, true, told, to, 7*n),
							sumOf("up.down", differences, false, from, to, (5-i)*n), histogramOf(from, to, 2*n, n))
					}
					for path, want := range map[string]float64{
						"n_total": 6000, "none_total": 420, "up_down": 300 - 60*61/2, "h_count": 180, "h_sum": 300, `h_bucket{le="1"}`: 120, `h_bucket{le="+Inf"}`: 180,
					} {
						if got := total(t, store, "otlp/a/-/"+path, 0, 680); !near(got, want) {
							t.Errorf("%s: %v was acknowledged, the rows have %v", path, want, got)
						}
					}
				})
			}
		}
	}
}

// TestSparseDeltas: clients send no delta while nothing is counted, or send seldom. What was
// counted was unknown then, although it was acknowledged.
func TestSparseDeltas(t *testing.T) {
	for n, step := range []string{"30", "60", "10", ""} {
		store, at, _ := nodes(t, n+1, "otlp-step", step)
		random := rand.New(rand.NewPCG(1, uint64(n)))
		want, now, row := 0, 17, 60
		if step == "" {
			row = 3600 // a whole number of rows of whatever step is learned
		}
		got, read := 0.0, 0
		for i := range 100 {
			lasts := []int{1, 7, 60, 60, 60, 300, 4000}[random.IntN(7)]
			now += []int{0, 0, 5, 90, 900, 7000}[random.IntN(6)]
			started := now
			if i%5 == 4 {
				started = -receivertest.Epoch
			}
			now += lasts
			v := random.IntN(1000)
			want += v
			taken(t, at[i%len(at)], sumOf("n", differences, true, started, now, v))
			if closed := now - (receivertest.Epoch+now)%row; closed > read {
				got += total(t, store, "otlp/a/-/n_total", read, closed) // while the finest archive has it
				read = closed
			}
		}
		end := now + 2*row - (receivertest.Epoch+now)%row
		taken(t, at[0], sumOf("n", differences, true, now, end, 0))
		if got += total(t, store, "otlp/a/-/n_total", read, end); !near(got, float64(want)) {
			t.Errorf("%d nodes, step %q: %v was acknowledged, the rows have %v", len(at), step, want, got)
		}
	}
}

// TestDeltasOnce: a delta that comes again, or that has the time of another one, is not stored, and
// the answer says so. What a sink that fails has refused leaves nothing behind.
func TestDeltasOnce(t *testing.T) {
	store, at, f := nodes(t, 2, "otlp-step", "10")
	for i := range 12 {
		m := sumOf("n", differences, true, 10*i, 10*i+10, 100)
		if i%3 == 1 {
			f.fails.Store(true)
			for range 3 {
				if a := at[i%2].Ask(marshal(t, request(attrs("service.name", "a"), m))); a.Status != http.StatusServiceUnavailable {
					t.Errorf("%d %q, want 503", a.Status, a.Text)
				}
			}
			f.fails.Store(false)
		}
		taken(t, at[i%2], m)
		refused(t, at[i%2], "not after the last", m)
		refused(t, at[1-i%2], "not after the last", m)
	}
	if got := total(t, store, "otlp/a/-/n_total", 0, 120); !near(got, 1200) {
		t.Errorf("the rows have %v, want 1200", got)
	}
	body := marshal(t, request(attrs("service.name", "a"), sumOf("n", differences, true, 100, 110, 5, 130, 7, 120, 3, 140, 8)))
	if a := at[0].Ask(body); a.Status != http.StatusOK || !strings.Contains(a.Text, "not after the last") || !strings.Contains(a.Text, "\x08\x02") {
		t.Errorf("%d %q, want two of four rejected", a.Status, a.Text)
	}
	if got := total(t, store, "otlp/a/-/n_total", 120, 140); !near(got, 15) {
		t.Errorf("the rows have %v, want 15", got)
	}
	if n := at[0].Stats().Dropped[receivers.Late]; n != 6+6+2 {
		t.Errorf("%d samples were dropped as late", n)
	}
}

// TestDeltasInterleave: of two clients that send the same series to two nodes, the rows have what
// was acknowledged, whatever the times are.
func TestDeltasInterleave(t *testing.T) {
	store, at, _ := nodes(t, 2, "otlp-step", "10")
	random := rand.New(rand.NewPCG(2, 3))
	want, last := 0.0, 0
	now := [2]int{0, 0}
	for range 400 {
		k := random.IntN(2)
		start := now[k]
		now[k] += 1 + random.IntN(8)
		last = max(last, now[k])
		a := at[k].Ask(marshal(t, request(attrs("service.name", "a"), sumOf("n", differences, true, start, now[k], 10))))
		switch a.Status {
		case http.StatusOK:
			if a.Text != "" {
				t.Errorf("%q", a.Text)
			}
			want += 10
		case http.StatusBadRequest:
		default:
			t.Errorf("%d %s", a.Status, a.Text)
		}
	}
	end := last + 10 - last%10
	taken(t, at[0], sumOf("n", differences, true, last, end, 0))
	if got := total(t, store, "otlp/a/-/n_total", 0, end); !near(got, want) || want < 1000 {
		t.Errorf("%v was acknowledged, the rows have %v", want, got)
	}
}

// TestDeltasIntoSeriesOfOlderVersions: deltas were added up, and stored as a counter, or as a level
// if they could be negative.
func TestDeltasIntoSeriesOfOlderVersions(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		store, at, _ := nodes(t, n, "otlp-step", "10")
		counter, level := receivers.StandardDefinition(10), receivers.StandardDefinition(10)
		counter.Sources[0].Kind, counter.Sources[0].Min = rra.DDerive, 0
		for path, d := range map[string]*rra.Definition{"n_total": counter, "queue": level} {
			ref, err := store.Create(t.Context(), core.Spec{Path: "otlp/a/-/" + path, Definition: d, Start: rra.Seconds(receivertest.Epoch)})
			if err != nil {
				t.Fatal(err)
			}
			b := new(core.Batch)
			b.Add(ref, rra.Seconds(receivertest.Epoch+10), rra.Float(12345))
			if err := store.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		for i := 1; i <= 30; i++ {
			taken(t, at[i%n], sumOf("n", differences, true, 10*i, 10*i+10, 100))
			taken(t, at[0], sumOf("queue", differences, false, 10*i, 10*i+10, 2))
		}
		if got := total(t, store, "otlp/a/-/n_total", 10, 310); math.Abs(got-3000) > 0.01 {
			t.Errorf("%d nodes: the rows of the counter have %v, want 3000", n, got)
		}
		if _, got := rows(t, store, "otlp/a/-/queue", 300, 310); got[0] != 12405 {
			t.Errorf("the level is %v, want 12405", got)
		}
	}
}

// TestDeltasAndTotals: what a counter has counted in all is no delta, and would be counted each
// time that it is sent.
func TestDeltasAndTotals(t *testing.T) {
	store, at, _ := nodes(t, 2, "otlp-step", "10")
	taken(t, at[0], sumOf("n", differences, true, 0, 10, 100))
	taken(t, at[1], sumOf("queue", differences, false, 0, 10, -100))
	for _, r := range at {
		refused(t, r, "deltas", sumOf("n", cumulative, true, 0, 20, 1_000_000), sumOf("queue", cumulative, false, 0, 20, 1_000_000))
	}
	taken(t, at[1], sumOf("n", differences, true, 10, 20, 100), sumOf("queue", differences, false, 10, 20, 50))
	if got, q := total(t, store, "otlp/a/-/n_total", 0, 20), total(t, store, "otlp/a/-/queue", 0, 20); !near(got, 200) || !near(q, -50) {
		t.Errorf("the rows have %v and %v, want 200 and -50", got, q)
	}
	if err := core.Drop(t.Context(), store, "otlp/a/-/n_total"); err != nil && !errors.Is(err, core.ErrNotFound) {
		t.Error(err)
	}
}

// TestAltered: what comes for a series that was altered a moment ago is to be sent again. It was
// refused for ever, as values that do not fit.
func TestAltered(t *testing.T) {
	store, at, _ := nodes(t, 1, "otlp-step", "10")
	for n := 10; n <= 100; n += 10 {
		taken(t, at[0], sumOf("n", differences, true, n-10, n, 100))
	}
	if _, err := store.Alter(t.Context(), "otlp/a/-/n_total", func(c core.Copy) (core.Copy, error) { return c, nil }); err != nil {
		t.Fatal(err)
	}
	last := sumOf("n", differences, true, 100, 110, 100)
	if a := at[0].Ask(marshal(t, request(attrs("service.name", "a"), last))); a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("%d %q", a.Status, a.Text)
	}
	taken(t, at[0], last)
	if got := total(t, store, "otlp/a/-/n_total", 0, 110); !near(got, 1100) {
		t.Errorf("the rows have %v, want 1100", got)
	}
}

// TestBoundsThatDoNotRise: buckets in no order were stored with 200, although they mean nothing.
func TestBoundsThatDoNotRise(t *testing.T) {
	histogram := func(bounds ...float64) *metrics.Metric {
		return &metrics.Metric{Name: "h", Data: &metrics.Metric_Histogram{Histogram: &metrics.Histogram{
			AggregationTemporality: cumulative, DataPoints: []*metrics.HistogramDataPoint{{
				TimeUnixNano: nanos(10), Count: 6, BucketCounts: make([]uint64, len(bounds)+1), ExplicitBounds: bounds,
			}},
		}}}
	}
	for _, bounds := range [][]float64{{2, 1}, {1, 1}, {1, 3, 2}, {math.NaN()}, {1, math.NaN(), 3}, {math.Inf(1), 1}, {math.Inf(1), math.Inf(1)}, {math.Copysign(0, -1), 0}} {
		rec := new(receivertest.Recorder)
		r := receivertest.Start(t, suite(t), rec, nil)
		refused(t, r, "bounds", histogram(bounds...))
		a := r.Ask(marshal(t, request(nil, histogram(bounds...), gaugeOf("level", "", 10, 1))))
		if a.Status != http.StatusOK || !strings.Contains(a.Text, "bounds") || len(rec.Samples()) != 1 {
			t.Errorf("%v: %d %q, %d samples", bounds, a.Status, a.Text, len(rec.Samples()))
		}
		taken(t, r, histogram(math.Inf(-1), 0, 1, math.Inf(1)))
	}
}
