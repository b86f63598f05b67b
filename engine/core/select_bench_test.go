package core_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// benchIndex is how many series BenchmarkSelect makes; RONDO_BENCH_SERIES sets another number.
const benchIndex = 1_000_000

// BenchmarkSelect selects by labels that differ from call to call. It reports the 99th percentile
// beside the mean. The series belong to hosts with 100 series each.
func BenchmarkSelect(b *testing.B) {
	n := benchIndex
	if text := os.Getenv("RONDO_BENCH_SERIES"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	ctx := context.Background()
	s := enginetest.OpenDir(b, b.TempDir(), core.Options{})
	d := definition(b, "DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	hosts := n / 100
	for first := 0; first < n; first += 50_000 {
		var specs []core.Spec
		for i := first; i < min(n, first+50_000); i++ {
			host, k := i/100, i%100
			specs = append(specs, core.Spec{Path: fmt.Sprintf("h%06d/s%02d", host, k), Definition: d, Start: rra.Seconds(programStart), Labels: []core.Label{
				{Name: "host", Value: fmt.Sprintf("h%06d", host)},
				{Name: "plugin", Value: fmt.Sprintf("p%d", k/10)},
				{Name: "type", Value: fmt.Sprintf("t%02d", k/2)},
				{Name: "type_instance", Value: fmt.Sprint(k)},
			}})
		}
		if _, err := s.CreateBatch(ctx, specs); err != nil {
			b.Fatal(err)
		}
		if err := s.Checkpoint(ctx); err != nil {
			b.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	host := func() string { return fmt.Sprintf("h%06d", r.IntN(hosts)) }
	for _, c := range []struct {
		name string
		ms   func() [][3]string
	}{
		{"host=", func() [][3]string { return [][3]string{{"host", "=", host()}} }},
		{"plugin=,host=", func() [][3]string {
			return [][3]string{{"plugin", "=", fmt.Sprintf("p%d", r.IntN(10))}, {"host", "=", host()}}
		}},
		{"host=,type!~", func() [][3]string { return [][3]string{{"host", "=", host()}, {"type", "!~", "t[0-3].*"}} }},
		{"host=~prefix", func() [][3]string { return [][3]string{{"host", "=~", host()[:6] + ".*"}, {"type", "=", "t07"}} }},
		{"host=~set", func() [][3]string {
			return [][3]string{{"host", "=~", host() + "|" + host() + "|" + host()}, {"type", "!=", "t07"}}
		}},
		{"type=", func() [][3]string { return [][3]string{{"type", "=", fmt.Sprintf("t%02d", r.IntN(50))}} }},
		{"host=~suffix", func() [][3]string { return [][3]string{{"host", "=~", ".*" + host()[4:]}} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			found := 0
			for b.Loop() {
				var ms []core.Matcher
				for _, m := range c.ms() {
					op := map[string]core.MatchOp{"=": core.MatchEqual, "!=": core.MatchNotEqual, "=~": core.MatchRegexp, "!~": core.MatchNotRegexp}[m[1]]
					x, err := core.NewMatcher(op, m[0], m[2])
					if err != nil {
						b.Fatal(err)
					}
					ms = append(ms, x)
				}
				began := time.Now()
				refs, err := core.Refs(ctx, s, ms)
				took = append(took, time.Since(began))
				if err != nil {
					b.Fatal(err)
				}
				found += len(refs)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(found)/float64(b.N), "series/op")
		})
	}
}

// BenchmarkCombinations asks for the combinations of series that no checkpoint has written yet.
// Four times the series must not take much more than four times as long.
func BenchmarkCombinations(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{50_000, 200_000} {
		s := enginetest.OpenDir(b, b.TempDir(), core.Options{})
		d := definition(b, "DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
		specs := make([]core.Spec, n)
		for i := range specs {
			specs[i] = core.Spec{
				Path: fmt.Sprintf("h%06d/s%02d", i/100, i%100), Definition: d, Start: rra.Seconds(programStart),
				Labels: []core.Label{{Name: "host", Value: fmt.Sprintf("h%06d", i/100)}, {Name: "type", Value: fmt.Sprintf("t%02d", i%100)}},
			}
		}
		for part := range slices.Chunk(specs, 50_000) {
			if _, err := s.CreateBatch(ctx, part); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprint("series=", n), func(b *testing.B) {
			for b.Loop() {
				if found, err := s.Labels(ctx, core.LabelQuery{Combine: true, Names: []string{"type"}}); err != nil || len(found.Combinations) != 100 {
					b.Fatalf("%d combinations, %v", len(found.Combinations), err)
				}
			}
		})
	}
}
