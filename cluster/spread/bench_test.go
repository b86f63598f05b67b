package spread_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// BenchmarkSum sums the rates of RONDO_BENCH_SERIES series, or of 10,000, in 16 partitions, half of
// them on another node, by 20 groups at 60 times, with the partitions' help and without. It reports
// the bytes that the other node sends.
func BenchmarkSum(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("RONDO_BENCH_SERIES"))
	if err != nil {
		n = 10_000
	}
	c := newCluster(b, 16, nil)
	d := &rra.Definition{
		Step:     60,
		Sources:  []rra.DataSource{{Name: "value", Kind: rra.Counter, Heartbeat: 1000, Min: math.NaN(), Max: math.NaN()}},
		Archives: []rra.Archive{{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 100}},
	}
	const start = base - base%60
	var specs []core.Spec
	for i := range n {
		specs = append(specs, core.Spec{Path: fmt.Sprint("m/", i), Definition: d, Start: rra.Seconds(start), Labels: []core.Label{
			{Name: "__name__", Value: "m_total"}, {Name: "i", Value: fmt.Sprint(i)}, {Name: "x", Value: fmt.Sprint(i % 20)},
		}})
	}
	created, err := c.router.CreateBatch(b.Context(), specs)
	if err != nil {
		b.Fatal(err)
	}
	for t := int64(60); t <= 5400; t += 60 {
		var batch core.Batch
		for i, x := range created {
			batch.Add(x.Ref, rra.Seconds(start+t), rra.Uint(uint64(t)*uint64(1+i%7)))
		}
		if err := core.Append(b.Context(), c.router, &batch); err != nil {
			b.Fatal(err)
		}
	}
	for _, help := range []bool{false, true} {
		b.Run(fmt.Sprintf("help=%v", help), func(b *testing.B) {
			var q promql.Query
			before := c.sent.Load()
			for range b.N {
				opts := promql.NewPrometheusQueryOpts(false, 0)
				from, to, step := time.Unix(start+1800, 0), time.Unix(start+5340, 0), time.Minute
				if help {
					q, err = c.asker.NewQuery(b.Context(), opts, "sum by (x) (rate(m_total[5m]))", from, to, step)
				} else {
					q, err = c.engine.NewRangeQuery(b.Context(), c.prom, opts, "sum by (x) (rate(m_total[5m]))", from, to, step)
				}
				if err != nil {
					b.Fatal(err)
				}
				r := q.Exec(b.Context())
				if m, err := r.Matrix(); err != nil || len(m) != 20 {
					b.Fatal(len(m), err)
				}
				q.Close()
			}
			b.ReportMetric(float64(c.sent.Load()-before)/float64(b.N), "sent-B/op")
		})
	}
}
