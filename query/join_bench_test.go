package query_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
)

// collectds are the archives that collectd makes for a step of 10 s.
func collectds() (lines []string) {
	for _, pdps := range []int{1, 7, 50, 223, 2635} {
		for _, cf := range []string{"AVERAGE", "MIN", "MAX"} {
			lines = append(lines, fmt.Sprintf("RRA:%s:0.1:%d:1200", cf, pdps))
		}
	}
	return lines
}

// BenchmarkPoints reads charts of 1200 points, and the rows of their archive alone (plain): of hosts
// of 400 days, of 30 days, and of 15 minutes.
func BenchmarkPoints(b *testing.B) {
	for _, n := range []int{1, 100} {
		for _, age := range []int64{400 * 86400, 30 * 86400, 900} {
			if n == 100 && age > 30*86400 {
				continue
			}
			name := fmt.Sprintf("series=%d/age=%s", n, time.Duration(age)*time.Second)
			b.Run(name, func(b *testing.B) { benchmarkPoints(b, n, age) })
		}
	}
}

func benchmarkPoints(b *testing.B, n int, age int64) {
	const now = 1_700_000_003
	s := enginetest.Open(b)
	d := define(b, 10, collectds()...)
	d.Sources = d.Sources[:1]
	var refs []core.Ref
	for i := range n {
		refs = append(refs, create(b, s, fmt.Sprintf("%d/%d", age, i), d, now-age))
	}
	for at := now - age + 10; at <= now; {
		var batch core.Batch
		for range 1000 {
			for i, ref := range refs {
				if at <= now {
					batch.Add(ref, rra.Seconds(at), rra.Float(float64(at/10%97)+float64(i)/10))
				}
			}
			at += 10
		}
		if err := s.Append(b.Context(), &batch); err != nil {
			b.Fatal(err)
		}
		if at < now-1000 && at+20_000 > now-1000 || age > 1000 && at > now-300 {
			if err := s.Checkpoint(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, length := range []int64{86400, 366 * 86400} {
		r := query.Request{CF: rra.Average, Start: now - length, End: now}
		name := fmt.Sprintf("range=%dd", length/86400)
		width := plans(b, s, refs[:1], r, 1500)[0].Step
		b.Run(name+"/plain", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, ref := range refs {
					r := r
					r.Resolution = width
					if t, err := fetch(b.Context(), s, ref, r); err != nil || t.Step != width {
						b.Fatal(t, err)
					}
				}
			}
		})
		b.Run(name+"/joined", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pointsOf(b, s, refs, r, 1500)
			}
		})
	}
}
