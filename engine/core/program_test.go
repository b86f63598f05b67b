package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// Random definitions, and random readings of what a program has created.

const programStart = 1_000_000_000

// randomDefinition makes a definition. plain ones have neither archives of the Holt-Winters family
// nor many columns.
func randomDefinition(t testing.TB, r *rand.Rand, plain bool) *rra.Definition {
	t.Helper()
	step := pick[int64](r, 1, 5, 10, 10, 60, 300, 7)
	sources := pick(r, 1, 1, 1, 2, 3, 5)
	if !plain && r.IntN(12) == 0 {
		sources = 30
	}
	var args []string
	for i := range sources {
		name := fmt.Sprintf("d%d", i)
		if i > 0 && r.IntN(6) == 0 {
			args = append(args, fmt.Sprintf("DS:%s:COMPUTE:d0,%d,+", name, r.IntN(10)))
			continue
		}
		kind := pick(r, "GAUGE", "GAUGE", "COUNTER", "DERIVE", "DCOUNTER", "DDERIVE", "ABSOLUTE")
		beat := pick(r, step, 2*step, 2*step, 10*step, 1000*step, 100_000_000)
		args = append(args, fmt.Sprintf("DS:%s:%s:%d:%s:%s", name, kind, beat, pick(r, "U", "U", "U", "0"), pick(r, "U", "U", "1e9")))
	}
	for range 1 + r.IntN(5) {
		args = append(args, fmt.Sprintf("RRA:%s:%v:%d:%d", pick(r, "AVERAGE", "MIN", "MAX", "LAST"),
			pick(r, 0, 0.5, 0.5, 0.99), pick(r, 1, 1, 2, 3, 6, 12, 60), pick(r, 1, 2, 3, 10, 30, 100, 400)))
	}
	if !plain && r.IntN(4) == 0 {
		period := 2 + r.IntN(20)
		args = append(args, fmt.Sprintf("RRA:%s:%d:0.1:0.05:%d", pick(r, "HWPREDICT", "MHWPREDICT"), period+r.IntN(100), period))
	}
	d, err := rra.ParseDefinition(step, args)
	if err != nil {
		t.Fatalf("definition %v: %v", args, err)
	}
	return d
}

// nextTime returns a time for the next reading of x.
func nextTime(r *rand.Rand, x *modelSeries) rra.Time {
	step := rra.Seconds(x.m.Definition().Step)
	at := x.last()
	switch r.IntN(40) {
	case 0:
		return at - rra.Time(r.Int64N(int64(step))) // late
	case 1:
		return at + step*rra.Time(2+r.Int64N(20))
	case 2:
		return at + step*rra.Time(2+r.Int64N(2000))
	case 3:
		return at + rra.Seconds(1+r.Int64N(400*86400))
	case 4, 5:
		return at + rra.Time(1+r.Int64N(2*int64(step)))
	case 6:
		return at + 1
	}
	return (at/step + 1) * step
}

// A program is what the tests of a whole store share: series of several classes and readings for
// them.
type program struct {
	t       testing.TB
	r       *rand.Rand
	defs    []*rra.Definition
	series  []*modelSeries // alive
	made    int
	plainly bool // neither late samples nor wrong shapes
}

// reading makes one reading of x at a time.
func (p *program) reading(x *modelSeries, at rra.Time) *reading {
	def := x.m.Definition()
	if x.sources == nil {
		for _, ds := range def.Sources {
			if ds.Kind != rra.Compute {
				x.sources = append(x.sources, newValueSource(p.r, ds.Kind))
			}
		}
	}
	rd := &reading{x: x, at: at}
	for _, s := range x.sources {
		rd.values = append(rd.values, s.next(p.r, &rd.texts))
	}
	if !p.plainly && p.r.IntN(300) == 0 {
		rd.values = rd.values[:len(rd.values)-1]
	}
	return rd
}

// batch makes readings of some series: a tick of all active series of a definition, or a random
// lot.
func (p *program) batch() (out []*reading) {
	if len(p.series) == 0 {
		return nil
	}
	if p.r.IntN(3) > 0 {
		m := pick(p.r, p.series...).m
		at := rra.Time(0)
		for _, x := range p.series {
			if x.m.Shape() == m.Shape() && x.active {
				at = max(at, nextTime(p.r, x))
			}
		}
		for _, x := range p.series {
			if x.m.Shape() == m.Shape() && x.active {
				out = append(out, p.reading(x, at))
			}
		}
		if p.r.IntN(4) == 0 {
			p.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	last := make(map[*modelSeries]rra.Time)
	for range 1 + p.r.IntN(30) {
		x := pick(p.r, p.series...)
		if !x.active {
			continue
		}
		at := nextTime(p.r, x)
		if then := last[x]; then != 0 && p.r.IntN(5) > 0 {
			at = then + rra.Time(p.r.Int64N(3*int64(rra.Seconds(x.m.Definition().Step))))
		}
		last[x] = max(last[x], at)
		out = append(out, p.reading(x, at))
	}
	return out
}

// march makes ticks of the active series of one class, one step after the other: others fall far
// behind.
func (p *program) march(ticks int, do func([]*reading)) {
	if len(p.series) == 0 {
		return
	}
	m := pick(p.r, p.series...).m
	step := rra.Seconds(m.Definition().Step)
	var at rra.Time
	var who []*modelSeries
	for _, x := range p.series {
		if x.m.Shape() == m.Shape() && x.active {
			who = append(who, x)
			at = max(at, x.last())
		}
	}
	at = at / step * step
	for range ticks {
		at += step
		var out []*reading
		for _, x := range who {
			out = append(out, p.reading(x, at))
		}
		do(out)
	}
}

// toggle lets some series fall silent and others come back.
func (p *program) toggle() {
	share := pick(p.r, 2, 5, 20)
	for _, x := range p.series {
		if p.r.IntN(share) == 0 {
			x.active = !x.active
		}
	}
}
