package rra

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestCheckedStatesStayValid: a state that Check passes, however odd, passes it after every step,
// so that what was stored once can always be read again. Two counters could leave their bounds by
// one.
func TestCheckedStatesStayValid(t *testing.T) {
	r := seedtest.Rand(t)
	var machines []*Machine
	for _, args := range [][]string{
		{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10", "RRA:AVERAGE:0.5:3:10", "RRA:MAX:0.5:3:7"},
		{"DS:v:GAUGE:20:0:10", "RRA:AVERAGE:0.5:2147483647:10", "RRA:MIN:0.5:4:10"},
		{"DS:v:COUNTER:20:U:U", "DS:w:DERIVE:20:U:U", "RRA:AVERAGE:0.5:1:10", "RRA:LAST:0.5:4:10", "RRA:MIN:0.5:3:7"},
		{"DS:v:GAUGE:2000000:U:U", "RRA:AVERAGE:0.5:1:10", "RRA:HWPREDICT:100:0.1:0.1:20"},
		{"DS:v:DCOUNTER:2000000:U:U", "DS:w:ABSOLUTE:20:U:U", "RRA:MHWPREDICT:30:0.1:0.1:10", "RRA:AVERAGE:0.5:2:5"},
		{"DS:v:GAUGE:200:U:U", "DS:c:COMPUTE:v,2,*", "RRA:AVERAGE:0.5:1:10", "RRA:AVERAGE:0.5:1:10"},
	} {
		d, err := ParseDefinition(10, args)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Compile(d)
		if err != nil {
			t.Fatal(err)
		}
		machines = append(machines, m)
	}
	odd := []uint64{
		0, 1, math.MaxUint64, 1 << 63, math.Float64bits(math.Inf(1)), nanBits, math.Float64bits(1e308), math.Float64bits(-0.5),
		1<<32 - 1, (1<<32 - 1) << 32, maxUnknownPDPs, maxUnknownPDPs - 1, maxUnknownSec << 8, (maxUnknownSec - 1) << 8,
	}
	const trials, enough = 20000, 4000
	passed := 0
	for range trials {
		m := machines[r.IntN(len(machines))]
		s := m.NewState(Seconds(1_000_000_000))
		for i := range int64(3) {
			_, _ = m.Step(&s, Seconds(1_000_000_000+7*(i+1)), oddReadings(m, r), []string{"1"}, nil)
		}
		for range 1 + r.IntN(4) {
			w := &s.W[r.IntN(len(s.W))]
			switch r.IntN(4) {
			case 0:
				*w = odd[r.IntN(len(odd))]
			case 1:
				*w ^= 1 << r.IntN(64)
			case 2:
				*w = *w&^0xffffffff | odd[r.IntN(len(odd))]&0xffffffff
			default:
				*w = *w&0xffffffff | uint64(r.Uint32()>>r.IntN(32))<<32
			}
		}
		if m.Check(&s) != nil || m.LastUpdate(s.W) > 1<<58 {
			continue
		}
		passed++
		before := s.Clone()
		for range 6 {
			at := m.LastUpdate(s.W) + Time(1+r.Int64N(1<<(1+r.IntN(36))))
			runs, _ := m.Step(&s, at, oddReadings(m, r), []string{"1"}, nil)
			m.EndUpdate(&s)
			for _, x := range runs {
				if x.Count < 1 {
					t.Fatalf("%v: run %v from the state %x", m.Definition().Archives, x, before.W)
				}
			}
			if err := m.Check(&s); err != nil {
				t.Fatalf("%v: after a step to %d: %v; the state was %x", m.Definition().Archives, at, err, before.W)
			}
		}
	}
	if passed < enough {
		t.Errorf("%d states of %d passed: that shows little", passed, trials)
	}
}

// oddReadings is a reading of each data source of m; many are unknown.
func oddReadings(m *Machine, r *rand.Rand) []Value {
	var out []Value
	for i := range m.Definition().Sources {
		kind := m.Definition().Sources[i].Kind
		switch {
		case kind == Compute:
		case r.IntN(2) == 0:
			out = append(out, Unknown)
		case kind == Counter || kind == Derive:
			out = append(out, Int(r.Int64N(1000000)))
		default:
			out = append(out, Float(r.NormFloat64()*1000))
		}
	}
	return out
}
