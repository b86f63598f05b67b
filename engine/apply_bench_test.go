package engine

import (
	"fmt"
	"math"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// benchArchives are those of `rondo bench ingest`.
var benchArchives = []rra.Archive{
	{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 360, Partner: -1},
	{CF: rra.Average, XFF: 0.5, PDPs: 6, Rows: 1440, Partner: -1},
	{CF: rra.Max, XFF: 0.5, PDPs: 6, Rows: 1440, Partner: -1},
	{CF: rra.Average, XFF: 0.5, PDPs: 60, Rows: 1008, Partner: -1},
	{CF: rra.Average, XFF: 0.5, PDPs: 360, Rows: 8760, Partner: -1},
}

// BenchmarkApply applies batches of hosts of 100 series, without log and without database: what one
// sample costs in state, rows and row coding.
func BenchmarkApply(b *testing.B) {
	for _, hosts := range []int{20, 500} {
		b.Run(fmt.Sprintf("series=%d", hosts*100), func(b *testing.B) { benchmarkApply(b, hosts) })
	}
}

func benchmarkApply(b *testing.B, hosts int) {
	b.ReportAllocs()
	const start = 1_000_000_000
	m, err := rra.Compile(&rra.Definition{
		Step:     10,
		Sources:  []rra.DataSource{{Name: "v", Kind: rra.Gauge, Heartbeat: 20, Min: math.NaN(), Max: math.NaN()}},
		Archives: benchArchives,
	})
	if err != nil {
		b.Fatal(err)
	}
	s := &Store{}
	defer s.memory.close()
	c := newClass(1, m)
	s.catalogue.defs.Store(&[]*definition{newDefinition(1, m, c)})
	groups := make([]*group, hosts*100>>c.shift+1)
	for i := range groups {
		groups[i] = &group{c: c, id: uint32(i)}
		for j := range 1 << c.shift {
			groups[i].start(s, j, s.definition(1), rra.Seconds(start))
		}
	}
	batches := make([]Batch, hosts)
	for h := range batches {
		for k := range 100 {
			batches[h].Add(makeRef(1, uint32(h*100+k)), 0, rra.Float(0))
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
				bt.values[k] = rra.Float(float64((round * k) % 1000))
			}
			for from := uint32(0); from < 100; {
				g := groups[bt.samples[from].ref.number()>>c.shift]
				to := from + 1
				for to < 100 && bt.samples[to].ref.number()>>c.shift == g.id {
					to++
				}
				g.follow(bt, from, to)
				s.applySamples(sh, g, bt, from, to, &o)
				if round%100 == 0 { // what a checkpoint takes away
					g.pend.free(s)
				}
				from = to
			}
			n += 100
		}
	}
	if err := o.error(); err != nil {
		b.Fatal(err)
	}
}
