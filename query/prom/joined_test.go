package prom_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// number returns the only value of an answer at a second after t0, or NaN.
func (w *world) number(expr string, at int64) float64 {
	w.Helper()
	_, text, _ := strings.Cut(w.instant(expr, at), "=> ")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// A series is answered from its first reading on, whatever rows the query wants, and up to its last
// one. Its virtual counter goes on over the end of the rows without a jump.
func TestSeriesAreAnsweredUpToTheirLastReading(t *testing.T) {
	w := newWorld(t)
	g := w.create("g", "__name__=g", definition(rra.Gauge, 10, 1, 6, 60, 360))
	c := w.create("c", "__name__=c_total", definition(rra.Derive, 10, 1, 6, 60, 360))
	for fed, steps := range []int{2, 12, 77, 300, 2000} {
		w.feedFrom(g, c, steps)
		at := w.last(g)
		for _, expr := range []string{
			"g", "avg_over_time(g[1d])", "avg_over_time(g[1h])", "max_over_time(g[1d])", "min_over_time(g[1w])", "last_over_time(g[5m])",
			`g{__cf__="MAX"}`,
		} {
			if v := w.number(expr, at); v != 7 {
				t.Errorf("%d: %s at +%d: %v, want 7", fed, expr, at, v)
			}
		}
		for expr, age := range map[string]int64{
			"rate(c_total[1m])": 60, "irate(c_total[5m])": 30, "rate(c_total[1h])": 3600, "rate(c_total[5h])": 18_000, `{__name__="c_total:rate"}`: 30,
		} {
			if v := w.number(expr, at); at >= age && math.Abs(v-3) > 0.03 {
				t.Errorf("%d: %s at +%d: %v, want 3", fed, expr, at, v)
			}
		}
		if v := w.number("resets(c_total[1d])", at); v != 0 {
			t.Errorf("%d: %v resets", fed, v)
		}
		// The engine extrapolates half the distance of two samples.
		if v := w.number("increase(c_total[1d])", at); at > 100 && !(v >= 2.9*float64(at) && v < 3.2*float64(at)) {
			t.Errorf("%d: an increase of %v in %d s", fed, v, at)
		}
	}
}

// A young series is answered from the finest rows, and whole, however long the range is.
func TestAYoungSeriesOverALongRange(t *testing.T) {
	w := newWorld(t)
	w.feed(w.create("m", "__name__=m", definition(rra.Gauge, 10, 1, 6, 60, 360)), 10, 200, func(i int) rra.Value { return rra.Int(int64(i)) })
	for _, p := range [][2]int64{
		{t0 * 1000, (t0 + 2000) * 1000}, {0, (t0 + 86400) * 1000}, {(t0 - 30*86400) * 1000, (t0 + 30*86400) * 1000}, {math.MinInt64, math.MaxInt64},
	} {
		q, err := w.prom.Querier(p[0], p[1])
		if err != nil {
			t.Fatal(err)
		}
		set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", "m"))
		n := int64(0)
		for set.Next() {
			for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; {
				at, v := it.At()
				if n++; n <= 200 && (at != (t0+n*10)*1000 || v != float64(n)) {
					t.Fatalf("from %d to %d: sample %d is %v at %d", p[0], p[1], n, v, at)
				}
			}
		}
		if n < 200 || n > 201 { // and a mark of the end
			t.Errorf("from %d to %d: %d samples, want 200", p[0], p[1], n)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}

// feedFrom gives a gauge of 7, and a counter that grows by 3 a second, readings of so many steps
// more. They come 3 seconds behind the end of a step.
func (w *world) feedFrom(g, c core.Ref, steps int) {
	w.Helper()
	var b core.Batch
	at := w.last(g)
	if at == 0 {
		at = -7
	}
	for range steps {
		at += 10
		b.Add(g, rra.Seconds(t0+at), rra.Int(7))
		b.Add(c, rra.Seconds(t0+at), rra.Int(3*at))
	}
	if err := w.store.Append(w.Context(), &b); err != nil {
		w.Fatal(err)
	}
}

// last returns the second after t0 of a series' last update.
func (w *world) last(ref core.Ref) int64 {
	w.Helper()
	at, err := w.store.Last(ref)
	if err != nil {
		w.Fatal(err)
	}
	return at.Unix() - t0
}

// Whatever the archives, the age of the series, and the range: the newest sample is at most two
// steps old, and the last moment of a range query has a value.
func TestNewestSampleIsNew(t *testing.T) {
	for _, seed := range seedtest.Many(t, 20) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			w := newWorld(t)
			d := definition(rra.Gauge, []int64{1, 10, 60}[r.IntN(3)])
			for n := 1 + r.IntN(5); len(d.Archives) < n; {
				d.Archives = append(d.Archives, rra.Archive{
					CF: rra.CF(r.IntN(4) * r.IntN(2)), XFF: []float64{0, 0.1, 0.5}[r.IntN(3)], PDPs: []int64{1, 6, 7, 50, 223, 2635}[r.IntN(6)], Rows: 1 + r.Int64N(1500),
				})
			}
			// Of a step that has just ended, only its row knows a rate: see rra.Machine.Open. Without
			// rows of one step, readings come half a second later.
			late := rra.Time(0)
			if r.IntN(2) == 0 {
				d.Sources[0].Kind = rra.Derive
				if !slices.ContainsFunc(d.Archives, func(a rra.Archive) bool { return a.PDPs == 1 }) {
					late = 500_000
				}
			}
			ref := w.create("m", "__name__=m", d)
			age := min([]int64{2, 12, 90, 700, 9000, 30 * 86400 / d.Step}[r.IntN(6)], 60_000) * d.Step
			at := r.Int64N(d.Step)
			var b core.Batch
			for ; at <= age; at += d.Step {
				b.Add(ref, rra.Seconds(t0+at+3)+late, rra.Int(at*7))
			}
			if err := w.store.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			now := w.last(ref)
			for _, length := range []int64{900, 3600, 6 * 3600, 86400, 7 * 86400, 31 * 86400, 366 * 86400} {
				step := max(1, length/(1+r.Int64N(1200)))
				for how, got := range map[string]int64{
					"instant": w.newest("timestamp(m)", now, now, 1), "range": w.newest("timestamp(m)", now-length/step*step, now, step),
					"raw": w.newestRead(now-length, now, 0), "read": w.newestRead(now-length, now, step),
				} {
					if now-got > 2*d.Step {
						t.Errorf("%v, %d s old, %d s in steps of %d, %s: the newest is %d s old", d.Archives, age, length, step, how, now-got)
					}
				}
			}
		})
	}
}

// newest returns the value of the last moment of a query, as a second after t0.
func (w *world) newest(expr string, from, to, step int64) int64 {
	w.Helper()
	q, err := w.engine.NewRangeQuery(w.Context(), w.prom, nil, expr, time.Unix(t0+from, 0), time.Unix(t0+to, 0), time.Duration(step)*time.Second)
	if err != nil {
		w.Fatal(err)
	}
	defer q.Close()
	m, err := q.Exec(w.Context()).Matrix()
	if err != nil || len(m) != 1 || len(m[0].Floats) == 0 {
		w.Errorf("%s from %d to %d every %d s: %v, %v", expr, from, to, step, m, err)
		return math.MinInt64 / 2
	}
	last := m[0].Floats[len(m[0].Floats)-1]
	if last.T != (t0+to)*1000 {
		w.Errorf("%s from %d to %d every %d s: no value at the end, but %d s before", expr, from, to, step, t0+to-last.T/1000)
	}
	return int64(last.F) - t0
}

// newestRead returns when the last sample of a remote read is, in seconds after t0.
func (w *world) newestRead(from, to, step int64) int64 {
	w.Helper()
	q, err := w.prom.Querier((t0+from)*1000, (t0+to)*1000)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	var hints *storage.SelectHints
	if step > 0 {
		hints = &storage.SelectHints{Start: (t0 + from) * 1000, End: (t0 + to) * 1000, Step: step * 1000}
	}
	last := int64(math.MinInt64 / 2)
	set := q.Select(w.Context(), true, hints, labels.MustNewMatcher(labels.MatchEqual, "__name__", "m"))
	for set.Next() {
		it := set.At().Iterator(nil)
		for it.Next() != chunkenc.ValNone {
			last = it.AtT()/1000 - t0
		}
	}
	return last
}
