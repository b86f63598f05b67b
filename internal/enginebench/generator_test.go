package enginebench

import (
	"math"
	"testing"
	"unsafe"

	"github.com/rondo-db/rondo/rra"
)

// standard is the layout of most tests.
var standard = Layout{Archives: 5, Sources: 1}

func TestGeneratorIsAFunctionOfItsSeed(t *testing.T) {
	a, b, c := NewGenerator(7, standard, 1000), NewGenerator(7, standard, 300), NewGenerator(8, standard, 300)
	alone := newHostGenerator(7, standard, 2)
	var va, vb, vc, valone [HostReadings]rra.Value
	same := 0
	for k := range 50 {
		a.Next(2, va[:])
		b.Next(2, vb[:])
		c.Next(2, vc[:])
		alone.Next(0, valone[:])
		if va != vb || va != valone {
			t.Fatalf("reading %d: one seed gave different values", k)
		}
		if va == vc {
			same++
		}
	}
	if same > 0 {
		t.Errorf("another seed gave the same readings %d times", same)
	}
	if a.Phase(2) != b.Phase(2) || a.Phase(2) != alone.Phase(0) || a.At(2, 0) != a.Start(2)+rra.Seconds(step) {
		t.Errorf("phase or time of host 2 differs: %d %d %d", a.Phase(2), b.Phase(2), alone.Phase(0))
	}
}

func TestGeneratorProportions(t *testing.T) {
	g := NewGenerator(1, standard, 10*HostReadings)
	var busy, idle, integer, decimal, float int
	phases := map[int64]bool{}
	for h := range g.Hosts() {
		phases[g.Phase(h)] = true
		var prev, v [HostReadings]rra.Value
		var moved [HostReadings]int
		whole, cents := [HostReadings]bool{}, [HostReadings]bool{}
		for i := range whole {
			whole[i], cents[i] = true, true
		}
		g.Next(h, prev[:])
		for range 200 {
			g.Next(h, v[:])
			for i := range v {
				if v[i] != prev[i] {
					moved[i]++
				}
				if v[i].Tag == rra.TagUint {
					if v[i].Bits < prev[i].Bits {
						t.Fatalf("host %d series %d: a counter went back from %d to %d", h, i, prev[i].Bits, v[i].Bits)
					}
					continue
				}
				f := math.Float64frombits(v[i].Bits)
				whole[i] = whole[i] && f == math.Trunc(f)
				cents[i] = cents[i] && math.Round(f*100)/100 == f
			}
			prev = v
		}
		for i := range v {
			switch {
			case moved[i] < 20:
				idle++
			case v[i].Tag == rra.TagUint:
				busy++
			case whole[i]:
				integer++
			case cents[i]:
				decimal++
			default:
				float++
			}
		}
	}
	got := [5]int{busy, idle, integer, decimal, float}
	if want := [5]int{250, 250, 200, 200, 100}; got != want {
		t.Errorf("busy, idle, integer, decimal, float = %v, want %v", got, want)
	}
	if len(phases) < 4 {
		t.Errorf("ten hosts share %d phases", len(phases))
	}
}

func TestGeneratorIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(cell{}); n > 24 {
		t.Errorf("%d bytes a series", n)
	}
	g := NewGenerator(1, standard, 1000)
	var v [HostReadings]rra.Value
	if n := testing.AllocsPerRun(100, func() { g.Next(3, v[:]) }); n != 0 {
		t.Errorf("%v allocations a host", n)
	}
}

func BenchmarkGenerator(b *testing.B) {
	g := NewGenerator(1, standard, 100_000)
	var v [HostReadings]rra.Value
	b.ReportAllocs()
	h := 0
	for b.Loop() {
		if h++; h == g.Hosts() {
			h = 0
		}
		g.Next(h, v[:])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/HostReadings, "ns/value")
}
