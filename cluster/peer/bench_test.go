package peer_test

import (
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// BenchmarkSubmit stores batches of 1000 samples, 32 on their way, in a store of this process and
// through a peer. Compare the processor time (user and sys) of:
//
//	go test -run '^$' -bench Submit/local ./cluster/peer
//	go test -run '^$' -bench Submit/peer ./cluster/peer
func BenchmarkSubmit(b *testing.B) {
	for _, way := range []string{"local", "peer"} {
		b.Run(way, func(b *testing.B) {
			s := enginetest.OpenDir(b, b.TempDir(), core.Options{Sync: wal.SyncNone})
			e := core.Engine(s)
			if way == "peer" {
				e = partition(b, serve(b, of(s)).URL, peer.Options{})
			}
			submitAll(b, e)
		})
	}
}

func submitAll(b *testing.B, e core.Engine) {
	const series, under = 1000, 32
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:360"})
	if err != nil {
		b.Fatal(err)
	}
	specs := make([]core.Spec, series)
	for i := range specs {
		specs[i] = core.Spec{Path: fmt.Sprintf("s/%04d", i), Definition: d, Start: rra.Seconds(1000)}
	}
	made, err := e.CreateBatch(b.Context(), specs)
	if err != nil {
		b.Fatal(err)
	}
	var batches [under]core.Batch
	var tickets [under]core.Ticket
	b.ResetTimer()
	b.ReportAllocs()
	for n := range b.N {
		x, t := &batches[n%under], &tickets[n%under]
		if n >= under {
			if err := t.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		x.Reset()
		for i := range made {
			x.Add(made[i].Ref, rra.Seconds(int64(1010+10*n)), rra.Float(float64(n*i)))
		}
		if err := e.Submit(b.Context(), x, t); err != nil {
			b.Fatal(err)
		}
	}
	for n := range min(under, b.N) {
		if err := tickets[n].Wait(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*series)/b.Elapsed().Seconds(), "samples/s")
}
