package spread_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/cluster/spread"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/partial"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/query/prom/promtest"
	"github.com/rondo-db/rondo/rra"
)

const (
	token    = "the secret of the cluster"
	patience = time.Minute
	base     = 1_600_000_200
)

// A cluster is partitions; every other one is on another node. It is a router.Directory.
type cluster struct {
	testing.TB
	stores []core.Engine // as the asking node has them
	router *router.Store
	prom   *prom.Storage
	engine *promql.Engine
	asker  *spread.Asker
	sent   atomic.Int64             // bytes that the other node has sent
	away   atomic.Bool              // the other node cannot be reached
	heard  func(q partial.Question) // gets each question to the other node; nil: nobody does
}

func (c *cluster) Partitions() int { return len(c.stores) }

func (c *cluster) Leader(_ context.Context, p int) (core.Engine, error) {
	if c.away.Load() && p%2 == 1 {
		return nil, errors.New("the node is gone")
	}
	return c.stores[p], nil
}

func (c *cluster) Reader(ctx context.Context, p int) (core.Engine, error) { return c.Leader(ctx, p) }

func newEngine(t testing.TB) *promql.Engine {
	e := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: patience, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// counted counts the bytes of answers.
type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (w counted) Write(b []byte) (int, error) {
	w.n.Add(int64(len(b)))
	return w.ResponseWriter.Write(b)
}

func (w counted) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w counted) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// newCluster makes n partitions. The other node has the given rules for names.
func newCluster(t testing.TB, n int, theirs []prom.Rule) *cluster {
	t.Helper()
	c := &cluster{TB: t}
	there := make([]core.Engine, n)
	evaluator := spread.NewEvaluator(newEngine(t), theirs, 2)
	s := &peer.Server{Token: token, Expressions: func(ctx context.Context, p int, e core.Engine, q partial.Question) (*partial.Answer, error) {
		if c.heard != nil {
			c.heard(q)
		}
		return evaluator.Evaluate(ctx, p, e, q)
	}, Partition: func(p int) (core.Engine, error) {
		if p >= n || there[p] == nil {
			return nil, core.ErrUnavailable
		}
		return there[p], nil
	}}
	path, h, err := s.Handler()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(counted{w, &c.sent}, r) })
	web := httptest.NewUnstartedServer(mux)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	node, err := peer.NewNode(web.URL, peer.Options{Token: token, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		node.Close()
		web.CloseClientConnections()
		web.Close()
	})
	for p := range n {
		store := enginetest.Open(t)
		if p%2 == 0 {
			c.stores = append(c.stores, store)
			continue
		}
		there[p] = store
		c.stores = append(c.stores, node.Partition(p))
	}
	if c.router, err = router.New(c, router.Options{Wait: 50 * time.Millisecond, Memory: 4 << 30}); err != nil {
		t.Fatal(err)
	}
	c.prom, c.engine = prom.New(c.router, nil), newEngine(t)
	c.asker = &spread.Asker{
		Engine: c.engine, Storage: c.prom, Partitions: c.router, Lookback: 5 * time.Minute, Most: 10_000_000,
		Local: spread.NewEvaluator(newEngine(t), nil, 2),
	}
	return c
}

// keep makes a series whose rows are samples.
func (c *cluster) keep(path string, ls labels.Labels, samples []promtest.Sample) {
	c.Helper()
	d := &rra.Definition{
		Step:     promtest.Step,
		Sources:  []rra.DataSource{{Name: "value", Kind: rra.Gauge, Heartbeat: 1 << 20, Min: math.NaN(), Max: math.NaN()}},
		Archives: []rra.Archive{{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 1000}},
	}
	spec := core.Spec{Path: path, Definition: d, Start: rra.Seconds(samples[0].Time/1000 - d.Step)}
	ls.Range(func(l labels.Label) { spec.Labels = append(spec.Labels, core.Label{Name: l.Name, Value: l.Value}) })
	ref, err := core.Create(c.Context(), c.router, spec)
	if err != nil {
		c.Fatal(err)
	}
	var b core.Batch
	for _, p := range samples {
		b.Add(ref, rra.Seconds(p.Time/1000), rra.Float(p.Value))
	}
	if err := core.Append(c.Context(), c.router, &b); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) fill() {
	for i, s := range promtest.Data(base) {
		c.keep(fmt.Sprintf("series/%d", i), s.Labels, s.Samples)
	}
}

// A period is the times of a query, in seconds; one time if step is 0.
type period struct{ start, end, step int64 }

// An answer is what a query gives: values by series, and a text with the rest.
type answer struct {
	values map[string]map[int64]float64
	text   string
}

// ask asks with the partitions' help or without.
func (c *cluster) ask(ctx context.Context, expr string, p period, spread bool) (a answer) {
	c.Helper()
	opts := promql.NewPrometheusQueryOpts(false, 0)
	start, end, step := time.Unix(p.start, 0), time.Unix(p.end, 0), time.Duration(p.step)*time.Second
	var q promql.Query
	var err error
	switch {
	case spread:
		q, err = c.asker.NewQuery(ctx, opts, expr, start, end, step)
	case p.step == 0:
		q, err = c.engine.NewInstantQuery(ctx, c.prom, opts, expr, end)
	default:
		q, err = c.engine.NewRangeQuery(ctx, c.prom, opts, expr, start, end, step)
	}
	if err != nil {
		return answer{text: "cannot be asked: " + err.Error()}
	}
	defer q.Close()
	r := q.Exec(ctx)
	if r.Err != nil {
		return answer{text: "fails: " + r.Err.Error()}
	}
	a.values = make(map[string]map[int64]float64)
	add := func(ls labels.Labels, t int64, v float64) {
		key := ls.String()
		if a.values[key] == nil {
			a.values[key] = make(map[int64]float64)
		}
		a.values[key][t] = v
	}
	switch v := r.Value.(type) {
	case promql.Matrix:
		for _, s := range v {
			for _, f := range s.Floats {
				add(s.Metric, f.T, f.F)
			}
		}
	case promql.Vector:
		for _, s := range v {
			add(s.Metric, s.T, s.F)
		}
	case promql.Scalar:
		add(labels.FromStrings("a", "scalar"), v.T, v.V)
	default:
		a.text = v.String()
	}
	warnings, infos := r.Warnings.AsStrings(expr, 0, 0)
	slices.Sort(warnings)
	slices.Sort(infos)
	// Where the expression was cut, a warning may name another place in it.
	a.text += place.ReplaceAllString(strings.Join(slices.Concat(warnings, infos), "\n"), "")
	return a
}

// place is the line and column at the end of a warning.
var place = regexp.MustCompile(`(?m) \(\d+:\d+\)$`)

// differ returns how two answers differ by more than rounding; "" if they do not.
func differ(want, got answer) string {
	if want.text != got.text {
		return fmt.Sprintf("want %q\ngot  %q", want.text, got.text)
	}
	if len(want.values) != len(got.values) {
		return fmt.Sprintf("want %v\ngot  %v", want.values, got.values)
	}
	for key, values := range want.values {
		if len(values) != len(got.values[key]) {
			return fmt.Sprintf("%s: want %v\ngot  %v", key, values, got.values[key])
		}
		for t, v := range values {
			w, ok := got.values[key][t]
			if !ok || !(math.Abs(v-w) <= 1e-11*max(math.Abs(v), 1) || v == w || v != v && w != w) {
				return fmt.Sprintf("%s at %d: want %v, got %v", key, t, v, w)
			}
		}
	}
	return ""
}

// both compares an expression with and without the partitions' help. It reports whether they have
// evaluated something.
func (c *cluster) both(expr string, p period) bool {
	c.Helper()
	was, again := c.asker.Counts()
	got := c.ask(c.Context(), expr, p, true)
	if d := differ(c.ask(c.Context(), expr, p, false), got); d != "" {
		c.Errorf("%s over %v:\n%s", expr, p, d)
	}
	now, anew := c.asker.Counts()
	return now-was > anew-again
}

// periods are times within Data, at one time and at many, between rows and at them.
var periods = []period{{end: base + 900}, {end: base + 907}, {base + 300, base + 1200, 30}, {base + 313, base + 1700, 47}, {base - 100, base + 4000, 600}}

// TestQueriesAreAsWhole has the partitions help with every query of promtest.
func TestQueriesAreAsWhole(t *testing.T) {
	c := newCluster(t, 5, nil)
	c.fill()
	spread := 0
	for i, text := range promtest.Queries() {
		if c.both(promtest.At(text, fmt.Sprint(base+600)), periods[i%len(periods)]) {
			spread++
		}
	}
	t.Logf("the partitions have helped with %d of %d queries", spread, len(promtest.Queries()))
	if spread < 20 {
		t.Errorf("the partitions have helped with %d queries", spread)
	}
}

// random returns an expression with sums. Nothing in it makes a large difference of a small one.
func random(r *rand.Rand) (expr, form string) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	selector := pick("load", "temperature", "requests_total", "odd", "seconds_count", "late", "early") +
		pick("", "", `{instance="a"}`, `{job=~"w.*"}`, `{instance!~"b|c"}`, `{job!=""}`)
	at := pick("", "", " offset 1m", " offset -33s", fmt.Sprint(" @ ", base+600), " @ end()", " @ start() offset 20s")
	over := pick("rate", "increase", "delta", "irate", "avg_over_time", "max_over_time", "min_over_time", "sum_over_time", "count_over_time", "stddev_over_time", "changes", "resets", "last_over_time", "present_over_time") +
		"(" + selector + pick("[30s]", "[1m]", "[2m30s]", "[5m]") + at + ")"
	inner := pick(selector+at, selector+at, over, over, "("+selector+at+" > 0)", "abs("+selector+")", "2 * "+over, "-"+selector, selector+" % 3", `{job="web"}`, `{__name__=~"load|odd"}`)
	op := pick("sum", "avg", "min", "max", "count", "group")
	by := pick("by (job)", "by (instance, job)", "by (nothing)", "by (__name__)", "without (instance)", "", "by (path)")
	one := op + " " + by + " (" + inner + ")"
	if r.IntN(2) == 0 {
		one = op + "(" + inner + ") " + by
	}
	other := pick("max", "count") + " by (job) (" + selector + ")"
	return pick(
		one, one, one, "-("+one+")", "("+one+") * 2\n + 1", "max("+one+")", one+" + on (job) group_left "+other, one+" or "+other, other+" unless on (job) "+one,
		"sort("+one+")", "absent("+one+")", "max_over_time(("+one+")[2m:30s])", "histogram_quantile(0.9, sum by (le) (rate(seconds_bucket[1m]"+at+")))",
		"label_replace("+one+`, "x", "y", "", "")`, "scalar("+one+")", "timestamp("+one+")", "clamp_min("+one+", -5)", "sum("+one+")",
	), op + " " + by
}

// TestRandomSumsAreAsWhole has the partitions help with random expressions.
func TestRandomSumsAreAsWhole(t *testing.T) {
	c := newCluster(t, 4, nil)
	c.fill()
	r := seedtest.Rand(t)
	asked, spread := make(map[string]int), make(map[string]int)
	for range 3 * seedtest.Programs(100, 2) {
		expr, form := random(r)
		asked[form]++
		p := periods[r.IntN(len(periods))]
		if c.both(expr, p) {
			spread[form]++
		}
		if t.Failed() {
			break
		}
	}
	all, total := 0, 0
	for _, form := range slices.Sorted(mapKeys(asked)) {
		all, total = all+spread[form], total+asked[form]
		t.Logf("%-30s %4d of %4d", form, spread[form], asked[form])
	}
	if 3*all < total && !t.Failed() {
		t.Errorf("the partitions have helped with %d of %d expressions", all, total)
	}
}

func mapKeys(m map[string]int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestWhatIsSpread checks which expressions the partitions help with.
func TestWhatIsSpread(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.fill()
	for expr, want := range map[string]bool{
		"sum(load)": true, "sum by (job) (rate(requests_total[5m]))": true, "avg(load) by (job)": true, "max(load offset 1m)": true,
		"sum(load) / count(load)": true, "min(-load)": true, "group by (job) (load > 0)": true, `count({job="web"})`: true,
		"topk(2, sum by (instance) (load))": true, "sum(abs(load))": true, `sum({__name__=~"load|odd"})`: true,
		"load": false, "sum without (instance) (load)": false, "sum by (path) (load)": false, "stddev(load)": false, "topk(2, load)": false,
		"absent(sum(load))": false, "max_over_time(sum(load)[5m:1m])": false, "sum(load * on (instance, job) temperature)": false,
		`sum(rate({__name__=~"load|odd"}[5m]))`: false, "sum(__p0)": false, "sum(": false, "sum(topk(1, load))": false, "quantile(0.5, load)": false,
	} {
		if got := c.both(expr, periods[0]); got != want {
			t.Errorf("%s: the partitions have helped: %v", expr, got)
		}
	}
}

// TestTwinsOfPartitions are series with the same labels in several partitions: they stay apart.
func TestTwinsOfPartitions(t *testing.T) {
	c := newCluster(t, 4, nil)
	for i := range 16 {
		c.keep(fmt.Sprintf("twin/%d", i), labels.FromStrings("__name__", "load", "job", "web"), []promtest.Sample{{Time: base * 1000, Value: float64(i)}, {Time: (base + 10) * 1000, Value: 1}})
	}
	for _, expr := range []string{"sum(load)", "count by (job) (load)", "sum without (job) (load)", "count by (path) (load)", "load", "sum(rate(load[1m]))"} {
		c.both(expr, period{end: base + 10})
	}
}

// TestNodeThatIsGone fails queries as it fails those without the partitions' help.
func TestNodeThatIsGone(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.fill()
	c.ask(t.Context(), "load", periods[0], false) // names are known
	c.away.Store(true)
	for _, help := range []bool{false, true} {
		if got := c.ask(t.Context(), "sum(load)", periods[0], help).text; !strings.Contains(got, "partition 1") || !strings.Contains(got, "the node is gone") {
			t.Errorf("with the partitions' help %v: %s", help, got)
		}
	}
	if _, again := c.asker.Counts(); again != 0 {
		t.Errorf("%d queries were asked again", again)
	}
}

// TestDeclined expressions are evaluated as a whole.
func TestDeclined(t *testing.T) {
	rule, err := prom.NewRule("x/(.*)", "x", map[string]string{"of": "$1"})
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, 3, []prom.Rule{rule})
	c.fill()
	if c.both("sum by (job) (load)", periods[2]) {
		t.Error("a node with other rules has helped")
	}
	c = newCluster(t, 3, nil)
	c.fill()
	c.asker.Most = 5
	if c.both("sum by (job) (load)", periods[2]) {
		t.Error("an answer that is too large was used")
	}
	c.asker.Most = 1e6
	limited := access.With(t.Context(), &access.User{Name: "x", Folders: []string{"series"}})
	was, _ := c.asker.Counts()
	if got := c.ask(limited, "sum(load)", periods[0], true); len(got.values) != 1 {
		t.Errorf("a user with a folder gets %+v", got)
	}
	if now, _ := c.asker.Counts(); now != was {
		t.Error("partitions, which do not know the user, have helped")
	}
}

// TestLargeAverage is one whose sum no float can be.
func TestLargeAverage(t *testing.T) {
	c := newCluster(t, 3, nil)
	for i := range 8 {
		c.keep(fmt.Sprintf("large/%d", i), labels.FromStrings("__name__", "large", "i", fmt.Sprint(i)), []promtest.Sample{{Time: base * 1000, Value: 1e308}})
	}
	if c.both("avg(large)", period{end: base}) {
		t.Error("the average of infinite parts was used")
	}
	c.both("sum(large)", period{end: base})
}

// TestCanceledQuery ends.
func TestCanceledQuery(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.fill()
	ctx, cancel := context.WithCancel(t.Context())
	q, err := c.asker.NewQuery(ctx, promql.NewPrometheusQueryOpts(false, 0), "sum(load)", time.Time{}, time.Unix(base+900, 0), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	cancel()
	if r := q.Exec(ctx); r.Err == nil {
		t.Error("a query that was canceled has an answer")
	}
}
