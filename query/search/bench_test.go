package search

import (
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// hostsTree is n series of hosts with 100 series each, as collectd names them.
func hostsTree(b *testing.B, n int) *Index {
	b.Helper()
	x := &Index{tree: newTree(), turn: make(chan struct{}, 1), share: new(core.MemoryShare)}
	for i := range n {
		host, k := i/100, i%100
		path := fmt.Sprintf("collectd/web%d.example.org/cpu-%d/cpu-%s", host, k/5, []string{"user", "system", "idle", "wait", "nice"}[k%5])
		if err := x.tree.add(path, "", core.Ref(i+1)); err != nil {
			b.Fatal(err)
		}
	}
	return x
}

// distinctTree is n series whose last names all differ.
func distinctTree(b *testing.B, n int) *Index {
	b.Helper()
	x := &Index{tree: newTree(), turn: make(chan struct{}, 1), share: new(core.MemoryShare)}
	for i := range n {
		path := fmt.Sprintf("app/%08x-%04x-%04x-requests-total", uint32(i)*2654435761, uint16(i), uint16(i>>4))
		if err := x.tree.add(path, fmt.Sprintf("what series %d counts", i), core.Ref(i+1)); err != nil {
			b.Fatal(err)
		}
	}
	return x
}

// BenchmarkScan is what a search costs beside the look-up of its few hits.
func BenchmarkScan(b *testing.B) {
	for _, names := range []struct {
		name string
		make func(*testing.B, int) *Index
	}{{"hosts", hostsTree}, {"distinct", distinctTree}} {
		x := names.make(b, 1_000_000)
		x.makeRoomUncharged()
		for _, text := range []string{"e", "web77", "web77 idle", "web12/cpu-1 idle", "no such name"} {
			b.Run(fmt.Sprintf("names=%s/series=1000000/text=%s", names.name, text), func(b *testing.B) {
				q, err := parseQuery(text)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(x.tree.memory())/1e6, "MB")
				for b.Loop() {
					folders, series := best{most: 5}, best{most: 20}
					if err := x.scan(b.Context(), q, &folders, &series); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkBuild is what the first request costs beside reading the catalogue.
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		hostsTree(b, 100_000)
	}
}
