package rows

import (
	"fmt"
	"testing"
)

// BenchmarkKind is BenchmarkWorkload for each kind of series alone, in strips of 32 rows of 10 s.
func BenchmarkKind(b *testing.B) {
	const rows, n = 256, 32
	all, kinds := workload(workloadRows()[1], 10, rows)
	for kind := range workloadKinds {
		var series [][]float64
		for i, s := range all {
			if kinds[i] == kind {
				series = append(series, s)
			}
		}
		benchRows(b, fmt.Sprintf("kind=%v/rows=%d", kind, n), series, n, 1)
	}
}

// BenchmarkWorkload measures the workload by the kind of its rows and by the rows of a strip.
func BenchmarkWorkload(b *testing.B) {
	for _, w := range workloadRows() {
		series, _ := workload(w, 10, 256)
		for _, n := range []int{8, 16, 32, 64, 128} {
			benchRows(b, fmt.Sprintf("row=%s/rows=%d", w.name, n), series, n, w.pdps)
		}
	}
}

func benchRows(b *testing.B, name string, series [][]float64, n int, pdps int64) {
	rows := len(series[0])
	var c Coder
	total := len(series) * rows
	hints := make([]Hint, len(series))
	dst := make([]byte, 0, 16*n+16)
	b.Run(name+"/op=encode", func(b *testing.B) {
		size := 0
		for b.Loop() {
			size = 0
			for i, s := range series {
				for at := 0; at < rows; at += n {
					size += len(c.Append(dst, s[at:at+n], pdps, &hints[i]))
				}
			}
		}
		b.SetBytes(int64(8 * total))
		b.ReportMetric(float64(size)/float64(total), "bytes/row")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(total), "ns/row")
	})
	var strips []byte
	for i, s := range series {
		for at := 0; at < rows; at += n {
			strips = Append(strips, s[at:at+n], pdps, &hints[i])
		}
	}
	out := make([]float64, 0, n)
	b.Run(name+"/op=decode", func(b *testing.B) {
		for b.Loop() {
			for src := strips; len(src) > 0; {
				_, used, err := Decode(out, src, n, pdps)
				if err != nil {
					b.Fatal(err)
				}
				src = src[used:]
			}
		}
		b.SetBytes(int64(8 * total))
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(total), "ns/row")
	})
}
