package core_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// benchDefinition is the definition of the series that the benchmarks make.
func benchDefinition(b *testing.B) *rra.Definition {
	b.Helper()
	d, err := rra.ParseDefinition(10, []string{
		"DS:value:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:360", "RRA:AVERAGE:0.5:6:1440", "RRA:MAX:0.5:6:1440", "RRA:AVERAGE:0.5:60:1008", "RRA:AVERAGE:0.5:360:8760",
	})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// benchCreate makes series with two labels by calls of create, which makes n of them from number
// from on, until all are in the database.
func benchCreate(b *testing.B, create func(s *core.Store, from, n int) ([]core.Created, error)) {
	const series, batch = 100_000, 1000
	b.ReportAllocs()
	for b.Loop() {
		s, err := core.Open(b.TempDir(), core.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for from := 0; from < series; from += batch {
			out, err := create(s, from, batch)
			if err != nil || out[batch-1].Err != nil {
				b.Fatal(err, out[batch-1].Err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(series*float64(b.N)/b.Elapsed().Seconds(), "series/s")
}

// benchName returns path and labels of a series by its number.
func benchName(i int) (string, []core.Label) {
	host, metric := fmt.Sprintf("host%04d", i/100), fmt.Sprintf("metric-%02d", i%100)
	return host + "/" + metric + ".rrd", []core.Label{{Name: "host", Value: host}, {Name: "metric", Value: metric}}
}

func BenchmarkCreateBatch(b *testing.B) {
	d := benchDefinition(b)
	benchCreate(b, func(s *core.Store, from, n int) ([]core.Created, error) {
		specs := make([]core.Spec, n)
		for i := range specs {
			specs[i].Path, specs[i].Labels = benchName(from + i)
			specs[i].Definition = d
		}
		return s.CreateBatch(context.Background(), specs)
	})
}

// BenchmarkImport takes copies with 20 rows, each with a definition of its own, as they come from
// files.
func BenchmarkImport(b *testing.B) {
	d := benchDefinition(b)
	m, err := rra.Compile(d)
	if err != nil {
		b.Fatal(err)
	}
	state := m.NewState(rra.Seconds(programStart))
	rows := make([][]float64, len(d.Archives))
	for i := range 20 {
		rows[0] = append(rows[0], float64(i%7)*1.5)
	}
	benchCreate(b, func(s *core.Store, from, n int) ([]core.Created, error) {
		copies := make([]core.Copy, n)
		for i := range copies {
			own := *d
			copies[i] = core.Copy{Definition: &own, State: state, Rows: rows}
			copies[i].Path, copies[i].Labels = benchName(from + i)
		}
		return s.Import(context.Background(), copies, false)
	})
}
