package core_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// The parts of the store by themselves; the whole of it under load is `rondo bench ingest`.

func benchStore(b *testing.B, series int) (*core.Store, []core.Ref) {
	b.Helper()
	s, err := core.Open(b.TempDir(), core.Options{NoBackground: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	def := definition(b, "DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:360", "RRA:AVERAGE:0.5:6:1440",
		"RRA:MAX:0.5:6:1440", "RRA:AVERAGE:0.5:60:1008", "RRA:AVERAGE:0.5:360:8760")
	var specs []core.Spec
	for i := range series {
		specs = append(specs, core.Spec{
			Path: fmt.Sprintf("h%04d/s%02d", i/100, i%100), Definition: def, Start: rra.Seconds(programStart),
			Labels: []core.Label{{Name: "host", Value: fmt.Sprint(i / 100)}},
		})
	}
	refs := make([]core.Ref, 0, series)
	for part := range slices.Chunk(specs, core.MaxBatch) {
		out, err := s.CreateBatch(context.Background(), part)
		if err != nil {
			b.Fatal(err)
		}
		for i := range out {
			refs = append(refs, out[i].Ref)
		}
	}
	return s, refs
}

// fill appends n readings of every series, which end at programStart + 10n.
func fill(b *testing.B, s *core.Store, refs []core.Ref, from, n int64) {
	b.Helper()
	var batch core.Batch
	for i := from; i < from+n; i++ {
		batch.Reset()
		for j, ref := range refs {
			batch.Add(ref, rra.Seconds(programStart+10*(i+1)), rra.Float(float64((int(i)*7+j)%1000)/100))
		}
		mustAppend(b, s, &batch)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, bb := range []struct{ series, batch int }{{1, 1}, {1000, 64}, {1000, 1000}, {100_000, 100}} {
		b.Run(fmt.Sprintf("series=%d/batch=%d", bb.series, bb.batch), func(b *testing.B) {
			s, refs := benchStore(b, bb.series)
			var batch core.Batch
			ctx := context.Background()
			b.ReportAllocs()
			next := 0
			for b.Loop() {
				batch.Reset()
				for range bb.batch {
					batch.Add(refs[next%bb.series], rra.Seconds(programStart+10*int64(next/bb.series+1)), rra.Float(float64(next%1000)/100))
					next++
				}
				if err := s.Append(ctx, &batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(next), "ns/sample")
		})
	}
}

func BenchmarkFetch(b *testing.B) {
	s, refs := benchStore(b, 1000)
	fill(b, s, refs, 0, 400)
	if err := s.Checkpoint(context.Background()); err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 1))
	for _, rows := range []int64{10, 360} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(8 * rows)
			for b.Loop() {
				got, err := s.Fetch(ctx, refs[r.IntN(len(refs))], 0, programStart+4000-10*rows, programStart+4000)
				if err != nil || int64(len(got.Values)) != rows {
					b.Fatalf("%d rows, %v", len(got.Values), err)
				}
			}
		})
	}
	b.Run("series=1000/rows=360", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(8 * 360 * 1000)
		for b.Loop() {
			if err := s.FetchMany(ctx, core.Spans(refs, 0, programStart+400, programStart+4000), func(int, *core.Rows, error) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCheckpoint(b *testing.B) {
	for _, series := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("series=%d/samples=6", series), func(b *testing.B) {
			s, refs := benchStore(b, series)
			n := int64(0)
			for b.Loop() {
				b.StopTimer()
				fill(b, s, refs, n, 6)
				n += 6
				b.StartTimer()
				if err := s.Checkpoint(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	s, refs := benchStore(b, 10_000)
	names := make([]string, len(refs))
	for i := range names {
		names[i] = fmt.Sprintf("h%04d/s%02d.rrd", i/100, i%100)
	}
	for _, where := range []string{"memory", "database"} {
		b.Run("in="+where, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := s.Lookup(names[i*7919%len(names)]); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := s.Checkpoint(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	s, _ := benchStore(b, 10_000)
	if err := s.Checkpoint(context.Background()); err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.Run("prefix=100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if n := len(paths(b, s.Select(ctx, core.Query{Prefix: "h0042/", Order: core.ByPath}))); n != 100 {
				b.Fatalf("%d series", n)
			}
		}
	})
	b.Run("all=10000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for _, err := range s.Select(ctx, core.Query{Order: core.ByPath}) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != 10_000 {
				b.Fatalf("%d series", n)
			}
		}
	})
	b.Run("label=100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if n := len(paths(b, s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "host", Value: "42"}}, Order: core.ByRef}))); n != 100 {
				b.Fatalf("%d series", n)
			}
		}
	})
}
