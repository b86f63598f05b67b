package rra

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// benchDefinition is the series that the figures of DESIGN speak of.
func benchDefinition(kind Kind, sources int) *Definition {
	d := &Definition{Step: 10}
	for i := range sources {
		d.Sources = append(d.Sources, DataSource{Name: fmt.Sprint("s", i), Kind: kind, Heartbeat: 20, Min: math.NaN(), Max: math.NaN()})
	}
	for _, a := range []Archive{
		{CF: Average, PDPs: 1, Rows: 360},
		{CF: Average, PDPs: 6, Rows: 1440},
		{CF: Max, PDPs: 6, Rows: 1440},
		{CF: Average, PDPs: 60, Rows: 1008},
		{CF: Average, PDPs: 360, Rows: 8760},
	} {
		a.XFF, a.Partner = 0.5, -1
		d.Archives = append(d.Archives, a)
	}
	return d
}

func BenchmarkStep(b *testing.B) {
	for _, kind := range []Kind{Gauge, Counter, Derive} {
		for _, series := range []int{1, 1000, 100_000} {
			b.Run(fmt.Sprintf("kind=%d/series=%d", kind, series), func(b *testing.B) {
				benchmarkStep(b, benchDefinition(kind, 1), series, 0)
			})
		}
	}
	b.Run("sources=2", func(b *testing.B) { benchmarkStep(b, benchDefinition(Derive, 2), 1000, 0) })
	b.Run("sources=20", func(b *testing.B) { benchmarkStep(b, benchDefinition(Gauge, 20), 1000, 0) })
	b.Run("phase=3", func(b *testing.B) { benchmarkStep(b, benchDefinition(Counter, 1), 1000, 3) })
}

// benchmarkStep steps many series of one machine whose states lie side by side,
// one sample each in turn.
func benchmarkStep(b *testing.B, d *Definition, series int, phase int64) {
	m, err := Compile(d)
	if err != nil {
		b.Fatal(err)
	}
	start := int64(1_000_000_000) + phase
	words := make([]uint64, series*m.Words())
	values := make([]Value, 4096)
	r := rand.New(rand.NewPCG(1, 2))
	count := int64(0)
	for i := range values {
		count += r.Int64N(1000)
		values[i] = Int(count)
		if d.Sources[0].Kind == Gauge {
			values[i] = Float(float64(r.IntN(10000)) / 100)
		}
	}
	states := make([]State, series)
	for i := range states {
		states[i].W = words[i*m.Words() : (i+1)*m.Words() : (i+1)*m.Words()]
		m.Init(states[i].W, Seconds(start))
	}
	var out []Run
	now, k := start, 0
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		now += 10
		if k++; k+len(d.Sources) > len(values) {
			k = 0
		}
		for i := range states {
			out, err = m.Step(&states[i], Seconds(now), values[k:k+len(d.Sources)], nil, out[:0])
			if err != nil {
				b.Fatal(err)
			}
		}
		n += series
	}
	b.ReportMetric(float64(8*m.Words()), "B/series")
}
