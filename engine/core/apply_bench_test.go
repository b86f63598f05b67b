package core

import (
	"fmt"
	"math"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// benchArchives are the archives of `rondo bench ingest`.
var benchArchives = []rra.Archive{
	{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 360, Partner: -1},
	{CF: rra.Average, XFF: 0.5, PDPs: 6, Rows: 1440, Partner: -1},
	{CF: rra.Max, XFF: 0.5, PDPs: 6, Rows: 1440, Partner: -1},
	{CF: rra.Average, XFF: 0.5, PDPs: 60, Rows: 1008, Partner: -1},
	{CF: rra.Average, XFF: 0.5, PDPs: 360, Rows: 8760, Partner: -1},
}

// standardArchives are those that receivers make for a step of 10 s.
var standardArchives = func() (as []rra.Archive) {
	for _, a := range []rra.Archive{{PDPs: 1, Rows: 1200}, {PDPs: 7, Rows: 1235}, {PDPs: 50, Rows: 1210}, {PDPs: 223, Rows: 1202}, {PDPs: 2635, Rows: 1201}} {
		for _, cf := range []rra.CF{rra.Average, rra.Min, rra.Max} {
			as = append(as, rra.Archive{CF: cf, XFF: 0.1, PDPs: a.PDPs, Rows: a.Rows, Partner: -1})
		}
	}
	return as
}()

// BenchmarkApply applies batches of hosts of 100 series, without log and without database: what one
// sample costs in state, rows and row coding.
func BenchmarkApply(b *testing.B) {
	for _, hosts := range []int{20, 500} {
		b.Run(fmt.Sprintf("series=%d", hosts*100), func(b *testing.B) { benchmarkApply(b, hosts, 1, benchArchives) })
	}
	for _, sources := range []int{1, 2} {
		b.Run(fmt.Sprintf("archives=standard/sources=%d/series=20000", sources), func(b *testing.B) { benchmarkApply(b, 200, sources, standardArchives) })
	}
}

// BenchmarkApplyLate applies samples that are all too late, as a sender sends them whose clock
// stands still.
func BenchmarkApplyLate(b *testing.B) {
	sh, g, batch := benchGroup(b)
	var o outcome
	index := sh.indices(g, batch.samples, true)
	st := batch.stretch(0, len(index))
	sh.applySamples(g, st, index, &o)
	b.ResetTimer()
	for range b.N / len(batch.samples) {
		o = outcome{}
		sh.applySamples(g, st, index, &o)
	}
}

func benchmarkApply(b *testing.B, hosts, sources int, archives []rra.Archive) {
	b.ReportAllocs()
	const start = 1_000_000_000
	d := &rra.Definition{Step: 10, Archives: archives}
	for i := range sources {
		d.Sources = append(d.Sources, rra.DataSource{Name: fmt.Sprint("v", i), Kind: rra.Gauge, Heartbeat: 20, Min: math.NaN(), Max: math.NaN()})
	}
	m, err := rra.Compile(d)
	if err != nil {
		b.Fatal(err)
	}
	s := &Store{}
	defer s.space.Close()
	c := newClass(1, m, &s.space, &s.catalogue.defs)
	s.catalogue.defs.Store(&[]*definition{newDefinition(1, m, c)})
	groups := make([]*group, hosts*100>>c.shift+1)
	for i := range groups {
		groups[i] = &group{c: c, id: uint32(i)}
		for j := range 1 << c.shift {
			groups[i].start(j, s.catalogue.definition(1), rra.Seconds(start), nil)
		}
	}
	batches := make([]Batch, hosts)
	for h := range batches {
		for k := range 100 {
			batches[h].Add(makeRef(1, uint32(h*100+k)), 0, make([]rra.Value, sources)...)
		}
	}
	sh := &shard{}
	var o outcome
	b.ResetTimer()
	for n, round := 0, 1; n < b.N; round++ {
		for h := range batches {
			bt := &batches[h]
			for k := range bt.samples {
				bt.samples[k].at = rra.Seconds(start + int64(round)*10 + int64(h%10))
				for j := range sources {
					bt.values[k*sources+j] = rra.Float(float64((round * (k + j)) % 1000))
				}
			}
			for from := uint32(0); from < 100; {
				g := groups[bt.samples[from].ref.number()>>c.shift]
				to := from + 1
				for to < 100 && bt.samples[to].ref.number()>>c.shift == g.id {
					to++
				}
				index := sh.indices(g, bt.samples[from:to], true)
				st := bt.stretch(int(from), len(index))
				g.follow(index, st)
				sh.applySamples(g, st, index, &o)
				if round%100 == 0 { // what a checkpoint takes away
					g.pend.Free()
				}
				from = to
			}
			n += 100
		}
	}
	if err := o.error(nil); err != nil {
		b.Fatal(err)
	}
}

// benchGroup returns a group of 256 series, and a sample of each.
func benchGroup(b *testing.B) (*shard, *group, *Batch) {
	b.Helper()
	const start = 1_000_000_000
	m, err := rra.Compile(&rra.Definition{
		Step:     10,
		Archives: benchArchives,
		Sources:  []rra.DataSource{{Name: "v", Kind: rra.Gauge, Heartbeat: 20, Min: math.NaN(), Max: math.NaN()}},
	})
	if err != nil {
		b.Fatal(err)
	}
	s := &Store{}
	b.Cleanup(func() { s.space.Close() })
	c := newClass(1, m, &s.space, &s.catalogue.defs)
	s.catalogue.defs.Store(&[]*definition{newDefinition(1, m, c)})
	g, batch := &group{c: c}, &Batch{}
	for j := range 1 << c.shift {
		g.start(j, s.catalogue.definition(1), rra.Seconds(start), nil)
		batch.Add(makeRef(1, uint32(j)), rra.Seconds(start+10), rra.Float(1))
	}
	return &shard{}, g, batch
}
