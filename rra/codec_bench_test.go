package rra

import (
	"fmt"
	"testing"
)

func BenchmarkRows(b *testing.B) {
	for _, w := range workloadRows() {
		for _, n := range []int{8, 16, 32, 64, 128} {
			const rows = 256
			series, _ := workload(w, 10, rows)
			name := fmt.Sprintf("row=%s/rows=%d", w.name, n)
			total := len(series) * rows
			dst := make([]byte, 0, 8*rows)
			hints := make([]Hint, len(series))
			b.Run(name+"/op=encode", func(b *testing.B) {
				size := 0
				for b.Loop() {
					size = 0
					for i, s := range series {
						for at := 0; at < rows; at += n {
							size += len(AppendRows(dst, s[at:at+n], w.pdps, &hints[i]))
						}
					}
				}
				b.SetBytes(int64(8 * total))
				b.ReportMetric(float64(size)/float64(total), "bytes/row")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(total), "ns/row")
			})
			var segs [][]byte
			for i, s := range series {
				for at := 0; at < rows; at += n {
					segs = append(segs, AppendRows(nil, s[at:at+n], w.pdps, &hints[i]))
				}
			}
			out := make([]float64, 0, n)
			b.Run(name+"/op=decode", func(b *testing.B) {
				for b.Loop() {
					for _, seg := range segs {
						if _, _, err := DecodeRows(out, seg, n, w.pdps); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.SetBytes(int64(8 * total))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(total), "ns/row")
			})
		}
	}
}
