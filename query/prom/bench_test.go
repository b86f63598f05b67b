package prom_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// benchWorld is a store of n gauges and n counters with a row every 15 s for an hour.
func benchWorld(b *testing.B, n int) *world {
	w := newWorld(b)
	ctx := context.Background()
	var specs []core.Spec
	for i := range n {
		for _, m := range []struct {
			name string
			kind rra.Kind
		}{{"load", rra.Gauge}, {"requests_total", rra.DDerive}} {
			specs = append(specs, core.Spec{
				Path: fmt.Sprintf("p/%s/%d", m.name, i), Definition: definition(m.kind, 15, 1, 20), Start: rra.Seconds(t0),
				Labels: labelsOf(fmt.Sprintf("__name__=%s instance=host-%d job=node rack=r%d", m.name, i, i%50)),
			})
		}
	}
	made, err := w.store.CreateBatch(ctx, specs)
	if err != nil {
		b.Fatal(err)
	}
	for k := 1; k <= 240; k++ {
		var batch core.Batch
		for i, c := range made {
			batch.Add(c.Ref, rra.Seconds(t0+int64(k)*15), rra.Float(float64(k*(1+i%7))))
		}
		if err := w.store.Append(ctx, &batch); err != nil {
			b.Fatal(err)
		}
		if k == 200 {
			if err := w.store.Checkpoint(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	return w
}

// BenchmarkQuery runs queries through the engine: an instant over many series, and an hour of few.
func BenchmarkQuery(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{100, 10_000} {
		w := benchWorld(b, n)
		for _, expr := range []string{`sum by (rack) (load)`, `sum by (rack) (rate(requests_total[5m]))`} {
			b.Run(fmt.Sprintf("series=%d/instant/%s", n, expr), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					q, err := w.engine.NewInstantQuery(ctx, w.prom, nil, expr, time.Unix(t0+3600, 0))
					if err != nil {
						b.Fatal(err)
					}
					if r := q.Exec(ctx); r.Err != nil {
						b.Fatal(r.Err)
					} else if v, err := r.Vector(); err != nil || len(v) != 50 {
						b.Fatalf("%d elements, %v", len(v), err)
					}
					q.Close()
				}
			})
		}
		if n > 1000 {
			continue
		}
		for _, expr := range []string{`load`, `rate(requests_total[5m])`, `sum by (rack) (rate(requests_total[5m]))`} {
			b.Run(fmt.Sprintf("series=%d/hour/%s", n, expr), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					q, err := w.engine.NewRangeQuery(ctx, w.prom, nil, expr, time.Unix(t0, 0), time.Unix(t0+3600, 0), 15*time.Second)
					if err != nil {
						b.Fatal(err)
					}
					if r := q.Exec(ctx); r.Err != nil {
						b.Fatal(r.Err)
					}
					q.Close()
				}
			})
		}
	}
}

// BenchmarkLabelValues lists the 10,000 values of a label, known from before or, after a change of
// the catalogue, anew.
func BenchmarkLabelValues(b *testing.B) {
	w := benchWorld(b, 10_000)
	for _, anew := range []bool{false, true} {
		b.Run(fmt.Sprintf("anew=%t", anew), func(b *testing.B) {
			for b.Loop() {
				if anew {
					w.prom.SetRules(nil)
				}
				if got := len(w.values(b.Context(), "instance", nil)); got != 10_000 {
					b.Fatalf("%d values", got)
				}
			}
		})
	}
}

// BenchmarkSelects asks which of 10,000 rules read the 1,000 series of a page: rules about other
// metrics, about the same ones of other hosts, and with expressions that no index answers.
func BenchmarkSelects(b *testing.B) {
	w := benchWorld(b, 500)
	w.values(b.Context(), "instance", nil) // from now on the storage remembers
	var paths []string
	for i := range 500 {
		paths = append(paths, fmt.Sprintf("p/load/%d", i), fmt.Sprintf("p/requests_total/%d", i))
	}
	for _, rules := range []string{"", `m%d{job="node"}`, `load{job="node",instance="other-%d"}`, `{__name__=~"m%d.*",job="node"}`} {
		var lists [][]*labels.Matcher
		for i := 0; i < 10_000 && rules != ""; i++ {
			ms, err := parser.ParseMetricSelector(fmt.Sprintf(rules, i))
			if err != nil {
				b.Fatal(err)
			}
			lists = append(lists, ms)
		}
		b.Run("rules="+rules, func(b *testing.B) {
			for b.Loop() {
				err := w.prom.Selects(b.Context(), paths, lists, func(int, string, string, labels.Labels, bool) { b.Error("selected") })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
