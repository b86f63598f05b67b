package prom_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/prom"
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
	w := newWorld(t, prom.Options{})
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
