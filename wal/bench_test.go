package wal_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/wal"
)

// benchRecord is about as compressible as the engine's records.
func benchRecord(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	rec := make([]byte, n)
	for i := range rec {
		rec[i] = byte(r.ExpFloat64() * 12)
	}
	return rec
}

func BenchmarkAppend(b *testing.B) {
	for _, appenders := range []int{1, 32} {
		for _, size := range []int{300, 3000} {
			b.Run(fmt.Sprintf("appenders=%d/record=%d", appenders, size), func(b *testing.B) {
				l := open(b, b.TempDir(), wal.Options{})
				rec := benchRecord(size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for w := range appenders {
					wg.Go(func() {
						rec := append([]byte(nil), rec...)
						for i := w; i < b.N; i += appenders {
							binary.LittleEndian.PutUint64(rec, uint64(i))
							if _, err := l.Append(context.Background(), rec); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				s := l.Stats()
				b.ReportMetric(float64(s.Records)/float64(s.Syncs), "records/sync")
			})
		}
	}
}

// BenchmarkEnqueue is what an appender pays while the committer works beside it, as long as it is
// not held back.
func BenchmarkEnqueue(b *testing.B) {
	rec := benchRecord(300)
	l := open(b, b.TempDir(), wal.Options{})
	b.SetBytes(int64(len(rec)))
	b.ReportAllocs()
	for i := range b.N {
		if i%10000 == 0 {
			b.StopTimer()
			if _, err := l.Barrier(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		if _, err := l.Enqueue(rec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	const n, size = 400_000, 300
	l := open(b, b.TempDir(), wal.Options{})
	rec := benchRecord(size)
	for i := range n {
		binary.LittleEndian.PutUint64(rec, uint64(i))
		for j := 8; j < size; j += 7 {
			rec[j] = byte(i * j >> 3)
		}
		if _, err := l.Enqueue(rec); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := l.Barrier(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(l.Stats().WrittenBytes)/(n*size), "stored/raw")
	b.SetBytes(n * size)
	b.ReportAllocs()
	for b.Loop() {
		got := 0
		err := l.Replay(1, func(wal.Pos, []byte) error { got++; return nil })
		if err != nil || got != n {
			b.Fatal(got, err)
		}
	}
}
