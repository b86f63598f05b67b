package prom_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/prom/promtest"
	"github.com/rondo-db/rondo/rra"
)

// keep makes a series whose rows are samples that are step milliseconds apart. Values that are NaN
// are unknown.
func (w *world) keep(path string, ls labels.Labels, step int64, samples []promtest.Sample) {
	w.Helper()
	d := &rra.Definition{
		Step:     step / 1000,
		Sources:  []rra.DataSource{{Name: "value", Kind: rra.Gauge, Heartbeat: 1 << 20, Min: math.NaN(), Max: math.NaN()}},
		Archives: []rra.Archive{{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 5000}},
	}
	spec := core.Spec{Path: path, Definition: d, Start: rra.Seconds(samples[0].Time/1000 - d.Step)}
	ls.Range(func(l labels.Label) { spec.Labels = append(spec.Labels, core.Label{Name: l.Name, Value: l.Value}) })
	ref, err := w.store.Create(context.Background(), spec)
	if err != nil {
		w.Fatal(err)
	}
	var b core.Batch
	for _, p := range samples {
		v := rra.Float(p.Value)
		if math.IsNaN(p.Value) {
			v = rra.Unknown
		}
		b.Add(ref, rra.Seconds(p.Time/1000), v)
	}
	if err := w.store.Append(context.Background(), &b); err != nil {
		w.Fatal(err)
	}
}

// asked returns an engine as the API has it.
func asked(t *testing.T) *promql.Engine {
	e := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})
	t.Cleanup(func() { _ = e.Close() }) // no query runs
	return e
}

// A sorted storage gives its series in the order of their labels. Sums of doubles, ties of topk and
// texts of errors depend on the order, which the engine does not ask for.
type sorted struct{ storage.Queryable }

func (s sorted) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := s.Queryable.Querier(mint, maxt)
	return sortedQuerier{q}, err
}

type sortedQuerier struct{ storage.Querier }

func (q sortedQuerier) Select(ctx context.Context, _ bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	return q.Querier.Select(ctx, true, hints, ms...)
}

// A period is the times of a query; one time if step is 0.
type period struct{ start, end, step int64 }

// result returns an answer or an error as text that shows every bit of every value. Series that
// nothing orders are sorted.
func result(e *promql.Engine, q storage.Queryable, expr string, p period) string {
	ctx := context.Background()
	var query promql.Query
	var err error
	if p.step == 0 {
		query, err = e.NewInstantQuery(ctx, q, nil, expr, time.Unix(p.start, 0))
	} else {
		query, err = e.NewRangeQuery(ctx, q, nil, expr, time.Unix(p.start, 0), time.Unix(p.end, 0), time.Duration(p.step)*time.Second)
	}
	if err != nil {
		return "cannot be asked: " + err.Error()
	}
	defer query.Close()
	r := query.Exec(ctx)
	if r.Err != nil {
		text, _, _ := strings.Cut(r.Err.Error(), "{") // the group and series that it met first, in no order
		return "fails: " + text
	}
	var lines []string
	switch v := r.Value.(type) {
	case promql.Matrix:
		for _, s := range v {
			lines = append(lines, fmt.Sprint(s.Metric, bitsOf(s.Floats...), len(s.Histograms)))
		}
	case promql.Vector:
		for _, s := range v {
			lines = append(lines, fmt.Sprint(s.Metric, bitsOf(promql.FPoint{T: s.T, F: s.F}), s.H))
		}
	default:
		lines = append(lines, v.String())
	}
	if !strings.HasPrefix(expr, "sort") {
		slices.Sort(lines)
	}
	warnings, infos := r.Warnings.AsStrings(expr, 0, 0)
	slices.Sort(warnings)
	slices.Sort(infos)
	return strings.Join(slices.Concat(lines, warnings, infos), "\n")
}

// answers returns the answers of a store and of samples. The engine keeps the groups of an inner
// aggregation in a map, in whose order an outer one adds them up: if the answers differ, the samples
// are asked again, up to 200 times, for one that is the same.
func answers(w *world, samples storage.Queryable, expr string, p period) (got, want string) {
	got = result(w.engine, sorted{w.prom}, expr, p)
	for range 200 {
		if want = result(w.engine, samples, expr, p); want == got {
			break
		}
	}
	return got, want
}

func bitsOf(points ...promql.FPoint) string {
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, " %d:%v", p.T, p.F)
	}
	return b.String()
}

// TestAnswersAreThoseOfSamples: where each row is one sample, a store answers every query as a
// storage that has just these samples, to the last bit. The seed of the random
// queries is printed.
func TestAnswersAreThoseOfSamples(t *testing.T) {
	w := newWorld(t)
	w.engine = asked(t)
	var samples promtest.Memory
	for i, s := range promtest.Data(t0) {
		w.keep("x/"+strconv.Itoa(i), s.Labels, promtest.Step*1000, s.Samples)
		samples.Add(s.Labels, s.Samples...)
	}
	queries := promtest.Queries()
	r := seedtest.Rand(t)
	for range 100 {
		queries = append(queries, promtest.Random(r), wide(r, 1+r.IntN(3)))
	}
	answered, empty, failed := 0, 0, 0
	for _, expr := range queries {
		expr = promtest.At(expr, strconv.Itoa(t0+900))
		for _, p := range []period{{t0 + 1200, t0 + 1200, 0}, {t0 + 1795, t0 + 1795, 0}, {t0 + 605, t0 + 1505, 60}, {t0, t0 + 2400, 7}} {
			got, want := answers(w, &samples, expr, p)
			if got != want {
				t.Errorf("%s over %v:\n%s", expr, p, firstDifference(got, want))
				break
			}
			switch {
			case strings.HasPrefix(got, "cannot be asked") || strings.HasPrefix(got, "fails"):
				failed++
			case got == "":
				empty++
			default:
				answered++
			}
		}
	}
	t.Logf("%d queries, four times each: %d answers, %d empty ones, %d errors", len(queries), answered, empty, failed)
	if len(queries) < 400 || answered < 1200 {
		t.Errorf("only %d queries with %d answers", len(queries), answered)
	}
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "nothing", "nothing"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			n := 0 // bytes that both have, up to the beginning of a value
			for n < min(len(a), len(b)) && a[n] == b[n] {
				n++
			}
			n = strings.LastIndexByte(a[:n], ' ') + 1
			return fmt.Sprintf("%.100s …\n got %.200s\nwant %.200s", a, a[n:], b[n:])
		}
	}
	return ""
}
