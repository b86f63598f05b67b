package rrdcached

import (
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/query"
)

// BenchmarkRows writes an hour of rows as lines: of values that all differ, and of one value.
func BenchmarkRows(b *testing.B) {
	for name, values := range map[string]int{"differ": 90000, "same": 1} {
		b.Run(name, func(b *testing.B) { writeRows(b, values) })
	}
}

func writeRows(b *testing.B, values int) {
	const rows = 360
	t := &query.Table{Start: 1_700_000_000, End: 1_700_000_000 + 10*rows, Step: 10, DS: []string{"value"}}
	r := rand.New(rand.NewPCG(1, 2))
	for range rows {
		t.Values = append(t.Values, float64(r.IntN(values))/100+1.07)
	}
	c := &conn{out: make([]byte, 0, 2*answerBytes)}
	for b.Loop() {
		c.out = c.out[:0]
		if err := c.textRows(t, []int{0}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
