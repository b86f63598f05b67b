package search

import (
	"fmt"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// hostsTree is n series of hosts with 100 series each, as collectd names them.
func hostsTree(b *testing.B, n int) *Index {
	b.Helper()
	x := &Index{tree: newTree(), turn: make(chan struct{}, 1), share: new(core.MemoryShare)}
	for i := range n {
		host, k := i/100, i%100
		path := fmt.Sprintf("collectd/web%d.example.org/cpu-%d/cpu-%s", host, k/5, []string{"user", "system", "idle", "wait", "nice"}[k%5])
		if err := x.tree.add(path, "", nil, core.Ref(i+1)); err != nil {
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
		if err := x.tree.add(path, fmt.Sprintf("what series %d counts", i), nil, core.Ref(i+1)); err != nil {
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
		for _, text := range []string{"e", "c", "web77", "web77 idle", "web12/cpu-1 idle", "no such name"} {
			b.Run(fmt.Sprintf("names=%s/series=1000000/text=%s", names.name, text), func(b *testing.B) {
				q, err := parseQuery(text)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(x.tree.memory())/1e6, "MB")
				for b.Loop() {
					folders, series := best{tree: x.tree, most: 5}, best{tree: x.tree, most: 20}
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

// BenchmarkHome is what the list of hosts costs in a store of 10,000 hosts with 100 series each,
// once the index is made.
func BenchmarkHome(b *testing.B) {
	s := enginetest.OpenDir(b, b.TempDir(), core.Options{})
	x := New(s)
	b.Cleanup(x.Close)
	now := time.Unix(1_700_000_100, 0)
	fillHosts(b, s, 10_000, now)
	for b.Loop() {
		if _, err := x.Hosts(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFind is what a search costs there.
func BenchmarkFind(b *testing.B) {
	s := enginetest.OpenDir(b, b.TempDir(), core.Options{})
	x := New(s)
	b.Cleanup(x.Close)
	fillHosts(b, s, 10_000, time.Unix(1_700_000_100, 0))
	for _, text := range []string{"e", "c", "web7", "cpu idle"} {
		b.Run("search="+text, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := x.Search(b.Context(), text, 20, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fillHosts makes hosts with 100 series each. Every tenth series has a sample.
func fillHosts(b *testing.B, s *core.Store, hosts int, now time.Time) {
	b.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:value:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		b.Fatal(err)
	}
	const atOnce = 100
	for first := 0; first < hosts; first += atOnce {
		specs := make([]core.Spec, 100*atOnce)
		for i := range specs {
			host, k := first+i/100, i%100
			path := fmt.Sprintf("collectd/web%d.example.org/cpu-%d/cpu-%s", host, k/5, []string{"user", "system", "idle", "wait", "nice"}[k%5])
			specs[i] = core.Spec{Path: path, Definition: d, Start: rra.TimeOf(now.Add(-time.Minute))}
		}
		made, err := s.CreateBatch(b.Context(), specs)
		if err != nil {
			b.Fatal(err)
		}
		var batch core.Batch
		for i := 0; i < len(made); i += 10 {
			batch.Add(made[i].Ref, rra.TimeOf(now), rra.Float(1))
		}
		if err := s.Append(b.Context(), &batch); err != nil {
			b.Fatal(err)
		}
	}
}
