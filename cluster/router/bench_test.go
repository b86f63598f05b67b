package router_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// engines are what the benchmarks compare: one store, and routers.
func engines(b *testing.B, run func(b *testing.B, e core.Engine, all stores)) {
	b.Run("store", func(b *testing.B) {
		all := openStores(b, 1, core.Options{})
		run(b, all[0], all)
	})
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("partitions=%d", n), func(b *testing.B) {
			all := openStores(b, n, core.Options{})
			run(b, newRouter(b, all, router.Options{}), all)
		})
	}
}

// fillWith makes n series.
func fillWith(b *testing.B, e core.Engine, n int) (refs []core.Ref) {
	b.Helper()
	d := gauge(b)
	specs := make([]core.Spec, 0, 10_000)
	for i := range n {
		specs = append(specs, core.Spec{Path: fmt.Sprintf("host%05d/cpu-%d/cpu-user", i/20, i%20), Definition: d, Start: rra.Seconds(begin)})
		if len(specs) == cap(specs) || i == n-1 {
			out, err := e.CreateBatch(b.Context(), specs)
			must(b, err)
			for _, x := range out {
				refs = append(refs, x.Ref)
			}
			specs = specs[:0]
		}
	}
	return refs
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

const listed = 1_000_000

// BenchmarkList lists a million series in order of their paths.
func BenchmarkList(b *testing.B) {
	engines(b, func(b *testing.B, e core.Engine, all stores) {
		fillWith(b, e, listed)
		for _, s := range all {
			must(b, s.(core.Folder).Checkpoint(b.Context()))
		}
		b.ResetTimer()
		before := processorTime(b)
		for range b.N {
			n := 0
			for _, err := range e.Select(b.Context(), core.Query{Order: core.ByPath}) {
				must(b, err)
				n++
			}
			if n != listed {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N)/listed, "cpu-ns/series")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/listed, "ns/series")
	})
}

// BenchmarkListPage lists the first 100 of 100,000 series.
func BenchmarkListPage(b *testing.B) {
	engines(b, func(b *testing.B, e core.Engine, all stores) {
		fillWith(b, e, 100_000)
		for _, s := range all {
			must(b, s.(core.Folder).Checkpoint(b.Context()))
		}
		for b.Loop() {
			all, err := collect(e.Select(b.Context(), core.Query{Prefix: "host02", Order: core.ByPath}), 100)
			if err != nil || len(all) != 100 {
				b.Fatal(len(all), err)
			}
		}
	})
}

// BenchmarkSubmit submits batches of 1,000 samples of as many series.
func BenchmarkSubmit(b *testing.B) {
	engines(b, func(b *testing.B, e core.Engine, _ stores) {
		const size = 1000
		refs := fillWith(b, e, size)
		var batch core.Batch
		var t core.Ticket
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			batch.Reset()
			for _, ref := range refs {
				batch.Add(ref, rra.Seconds(int64(begin+1+i)), rra.Int(int64(i)))
			}
			must(b, e.Submit(b.Context(), &batch, &t))
			must(b, t.Wait())
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/size, "ns/sample")
	})
}

// away takes batches and forgets them.
type away struct{ core.Engine }

func (away) Submit(_ context.Context, _ *core.Batch, t *core.Ticket) error {
	t.Begin()
	t.Complete(nil)
	return nil
}

// BenchmarkSplit is what the router itself spends on a batch of 1,000 samples of 16 partitions.
func BenchmarkSplit(b *testing.B) {
	const size, partitions = 1000, 16
	all := openStores(b, partitions, core.Options{})
	refs := fillWith(b, newRouter(b, all, router.Options{}), size)
	for p := range all {
		all[p] = away{all[p]}
	}
	r := newRouter(b, all, router.Options{})
	var batch core.Batch
	for _, ref := range refs {
		batch.Add(ref, rra.Seconds(begin+1), rra.Int(1))
	}
	var t core.Ticket
	b.ReportAllocs()
	for b.Loop() {
		must(b, r.Submit(b.Context(), &batch, &t))
		must(b, t.Wait())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/size, "ns/sample")
}
