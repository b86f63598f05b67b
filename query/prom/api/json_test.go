package api

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestValues: values are written as Prometheus writes them, whichever way they are printed.
func TestValues(t *testing.T) {
	values := []float64{
		0, math.Copysign(0, -1), 1, -1, 0.001, -0.001, 0.0005, 0.1, 0.12, 0.125, 12.5, 999.999, 1e12, 1e15, 1e15 / 1000, 999999999999.999, -999999999999.999,
		1e20, 1e21, 1e-6, 9.9e-7, 1 << 53, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1),
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		v := float64(r.Int64N(2e15)-1e15) / 1000
		values = append(values, v, math.Nextafter(v, 0), float64(r.IntN(100_000))/1000, math.Trunc(v), math.Float64frombits(r.Uint64()))
	}
	var last repeater
	for _, v := range values {
		format := byte('f')
		if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
			format = 'e'
		}
		if got, want := string(appendValue(nil, v)), `,"`+strconv.FormatFloat(v, format, -1, 64)+`"]`; got != want {
			t.Fatalf("%x is written %s, want %s", math.Float64bits(v), got, want)
		} else if got := string(last.append(last.append(nil, v), v)); got != want+want {
			t.Fatalf("%x is written twice as %s, want %s", math.Float64bits(v), got, want)
		}
	}
}

// TestClock: the points of every series have their own times, also where the first series has other
// times.
func TestClock(t *testing.T) {
	many := make([]int64, 2*maxClock)
	for j := range many {
		many[j] = int64(20_000 + 1001*j)
	}
	var c clock
	for i, times := range [][]int64{
		{1000, 2500, -1}, {1000, 2500, -1, 12340}, {2500, -1}, {}, {1000, 2600, -1, 12340, 12349}, many, many[1:], many,
	} {
		for j, at := range times {
			if got, want := string(c.append([]byte("x"), j, at)), "x"+string(appendTime(nil, at)); got != want {
				t.Fatalf("series %d, point %d: the time is %s, want %s", i, j, got, want)
			}
		}
	}
	if len(c.times) != maxClock {
		t.Errorf("%d times are remembered, want %d", len(c.times), maxClock)
	}
}

// TestTimes: a time is written in seconds, with as few decimals as it has.
func TestTimes(t *testing.T) {
	for at, want := range map[int64]string{0: "0", 1: "0.001", 10: "0.01", 100: "0.1", 1230: "1.23", 12_345: "12.345", 60_000: "60", -1500: "-1.5", -20: "-0.02"} {
		if got := string(appendTime(nil, at)); got != want {
			t.Errorf("%d ms is %s, want %s", at, got, want)
		}
	}
}

// BenchmarkPoints writes an hour at a step of 15 s, of whole numbers, of decimals and of rates.
func BenchmarkPoints(b *testing.B) {
	for _, kind := range []struct {
		name  string
		value func(j int) float64
	}{
		{"whole", func(j int) float64 { return float64(j * 1234) }},
		{"decimals", func(j int) float64 { return float64(j*1234) / 100 }},
		{"rates", func(j int) float64 { return float64(j*1234) / 285 }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			var c clock
			var buf []byte
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				j := i % 241
				buf = appendValue(c.append(buf[:0], j, 1_700_000_000_000+15_000*int64(j)), kind.value(j))
			}
		})
	}
}
