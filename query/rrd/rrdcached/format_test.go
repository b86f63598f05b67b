package rrdcached

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestValuesAreExact compares with the standard library, which rounds as C's printf does.
func TestValuesAreExact(t *testing.T) {
	check := func(v float64) {
		t.Helper()
		if got, want := string(appendValue(nil, v)), strconv.FormatFloat(v, 'e', 17, 64); got != want {
			t.Fatalf("%x: got %s, want %s", math.Float64bits(v), got, want)
		}
	}
	taken := 0
	for _, v := range []float64{
		0, math.Copysign(0, -1), 1, -1, 10, 100, 0.1, 0.5, 9.9999999999999999, 99999999999999999, 1e17, 1e18, 123456789012345678, 1e-10, 9.99e-11,
		1e22, 1e23, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 1<<53 - 1, 0.30000000000000004, 2.5, 1e15, 1e16, 999999999999999.9,
	} {
		check(v)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 300_000 {
		var v float64
		switch r.IntN(5) {
		case 0:
			v = math.Float64frombits(r.Uint64())
			if v != v || math.IsInf(v, 0) {
				continue
			}
		case 1:
			v = float64(r.IntN(1_000_000)) / 100
		case 2:
			v = math.Pow(10, float64(r.IntN(30)-12))
		case 3:
			v = math.Ldexp(float64(r.Uint64N(1<<53)), -r.IntN(90)) // halves: ties
		default:
			v = r.NormFloat64() * math.Pow(10, float64(r.IntN(20)-8))
		}
		if _, ok := appendExact(nil, v); ok {
			taken++
		}
		check(v)
	}
	if taken < 150_000 {
		t.Errorf("the short way was taken %d times only", taken)
	}
}

func TestAdvance(t *testing.T) {
	for _, tt := range []struct {
		text string
		step uint64
		want string
		ok   bool
	}{
		{"1700000000", 10, "1700000010", true},
		{"1699999990", 10, "1700000000", true},
		{" 999999999", 1, "", false},
		{"99", 1, "", false},
		{"   5", 4, "   9", true},
		{"123", 0, "123", true},
		{"1000000000", 300, "1000000300", true},
	} {
		b := []byte(tt.text)
		if ok := advance(b, tt.step); ok != tt.ok || ok && string(b) != tt.want {
			t.Errorf("%q and %d: got %q, %v", tt.text, tt.step, b, ok)
		}
	}
}

func BenchmarkAppendValue(b *testing.B) {
	buf := make([]byte, 0, 100)
	v := 12.34
	for b.Loop() {
		buf = appendValue(buf[:0], v)
		v += 0.37
	}
}

func TestEight(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 200_000 {
		v := uint64(i) // all of four digits, and of them with others in front
		if i >= 10_000 {
			v = r.Uint64N(100_000_000)
		}
		if i%10 == 9 {
			v = 99_999_999 - v
		}
		if got, want := string(binary.LittleEndian.AppendUint64(nil, eight(v))), fmt.Sprintf("%08d", v); got != want {
			t.Fatalf("%d: got %s", v, got)
		}
	}
}
