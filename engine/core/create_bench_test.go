package core_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// BenchmarkCreateBatch makes series with two labels, in batches of 1,000, until all are in the
// database.
func BenchmarkCreateBatch(b *testing.B) {
	const series, batch = 100_000, 1000
	d, err := rra.ParseDefinition(10, []string{
		"DS:value:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:360", "RRA:AVERAGE:0.5:6:1440", "RRA:MAX:0.5:6:1440", "RRA:AVERAGE:0.5:60:1008", "RRA:AVERAGE:0.5:360:8760",
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := core.Open(b.TempDir(), core.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for from := 0; from < series; from += batch {
			specs := make([]core.Spec, batch)
			for i := range specs {
				host := fmt.Sprintf("host%04d", (from+i)/100)
				specs[i] = core.Spec{
					Path: fmt.Sprintf("%s/metric-%02d.rrd", host, i%100), Definition: d,
					Labels: []core.Label{{Name: "host", Value: host}, {Name: "metric", Value: fmt.Sprintf("metric-%02d", i%100)}},
				}
			}
			if _, err := s.CreateBatch(context.Background(), specs); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(series*float64(b.N)/b.Elapsed().Seconds(), "series/s")
}
