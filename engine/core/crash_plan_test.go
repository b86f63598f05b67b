package core_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// What the crash tests append follows from a seed: parent and child make the
// same operations without telling each other more than their numbers.

const crashAppenders = 4

// A crashKind is a definition and how its readings look.
type crashKind struct {
	args  []string
	start int // series an appender begins with
	def   *rra.Definition
}

// crashKinds are several classes, small rings that wrap within seconds, more than one group in the
// first.
func crashKinds() []crashKind {
	kinds := []crashKind{
		{start: 150, args: []string{"DS:v:GAUGE:30:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:AVERAGE:0.5:6:50", "RRA:MAX:0.5:6:50", "RRA:LAST:0:30:24"}},
		{start: 30, args: []string{"DS:in:COUNTER:600:U:U", "DS:out:DERIVE:600:0:U", "DS:sum:COMPUTE:in,out,+", "RRA:AVERAGE:0.5:1:70", "RRA:MIN:0.5:12:30"}},
		{start: 8, args: []string{"DS:v:GAUGE:30:U:U", "RRA:AVERAGE:0.5:1:50", "RRA:HWPREDICT:60:0.1:0.05:12"}},
		{start: 12, args: []string{"DS:v:ABSOLUTE:100000:U:U", "RRA:MAX:0.9:3:40"}},
	}
	for i := range kinds {
		d, err := rra.ParseDefinition(10, kinds[i].args)
		if err != nil {
			panic(err)
		}
		kinds[i].def = d
	}
	return kinds
}

// A crashPlan makes the operations of one appender, one after the other. Its series are its own.
type crashPlan struct {
	seed   uint64
	app    int
	n      int // operations made
	now    int64
	made   int
	kinds  []crashKind
	series []*planSeries
}

type planSeries struct {
	id    int
	kind  int
	path  string
	alive bool
	last  int64 // seconds
	quiet int   // operations it stays silent
}

type planSample struct {
	x  *planSeries
	at rra.Time
}

// A planOp is one operation: the first that is not empty of the fields is what it is.
type planOp struct {
	create  []*planSeries
	start   int64
	drop    *planSeries
	rename  *planSeries
	from    string      // what it was called
	replace *planSeries // by a series of another kind, under the same path
	by      *planSeries
	samples []planSample
}

func newCrashPlan(seed uint64, app int) *crashPlan {
	return &crashPlan{seed: seed, app: app, now: programStart, kinds: crashKinds()}
}

func (p *crashPlan) newSeries(kind int) *planSeries {
	p.made++
	x := &planSeries{id: p.made, kind: kind, path: fmt.Sprintf("a%d/k%d/s%d", p.app, kind, p.made), alive: true, last: p.now}
	p.series = append(p.series, x)
	return x
}

// beat is the series that every batch has a sample of.
func (p *crashPlan) beat() *planSeries { return p.series[0] }

func (p *crashPlan) next() (o planOp) {
	r := rand.New(rand.NewPCG(p.seed*64+uint64(p.app), uint64(p.n)))
	p.n++
	if p.n == 1 {
		o.start = p.now
		for k := range p.kinds {
			for range p.kinds[k].start {
				o.create = append(o.create, p.newSeries(k))
			}
		}
		return o
	}
	x := p.series[1+r.IntN(len(p.series)-1)]
	switch n := r.IntN(80); {
	case n == 0:
		o.start = p.now
		for range 1 + r.IntN(6) {
			o.create = append(o.create, p.newSeries(r.IntN(len(p.kinds))))
		}
	case n == 1 && x.alive:
		x.alive = false
		o.drop = x
	case n == 2 && x.alive:
		o.rename, o.from = x, x.path
		x.path = fmt.Sprintf("a%d/renamed/s%d.%d", p.app, x.id, p.n)
	case n == 3 && x.alive:
		x.alive = false
		o.replace, o.by = x, p.newSeries(r.IntN(len(p.kinds)))
		o.by.path, o.start = x.path, p.now
	default:
		p.batch(r, &o)
	}
	return o
}

func (p *crashPlan) batch(r *rand.Rand, o *planOp) {
	switch r.IntN(60) {
	case 0:
		p.now += 10 * r.Int64N(2000)
	case 1:
		p.now += 7 * 86400
	}
	ticks := 1 + r.IntN(12)
	var who []*planSeries
	for _, x := range p.series[1:] {
		if x.quiet--; x.quiet > 0 || !x.alive {
			continue
		}
		if r.IntN(200) == 0 {
			x.quiet = r.IntN(100)
		}
		if r.IntN(5) == 0 {
			who = append(who, x)
		}
	}
	for range ticks {
		p.now += 10
		o.samples = append(o.samples, planSample{p.beat(), rra.Seconds(p.now)})
		for _, x := range who {
			at := rra.Seconds(p.now)
			if r.IntN(30) == 0 {
				at += rra.Time(r.Int64N(9e6))
			}
			o.samples = append(o.samples, planSample{x, at})
		}
	}
}

// values are the reading of x at a time: they follow from the two.
func (p *crashPlan) values(x *planSeries, at rra.Time) ([]rra.Value, []string) {
	r := rand.New(rand.NewPCG(uint64(x.id)*1e6+p.seed, uint64(at)))
	sec := uint64(at) / 1e6
	switch x.kind {
	case 1:
		if r.IntN(50) == 0 {
			return []rra.Value{rra.Text(0), rra.Unknown}, []string{fmt.Sprintf("000%d", sec)}
		}
		return []rra.Value{rra.Uint(sec * uint64(x.id)), rra.Int(int64(sec)*3 - int64(r.IntN(100)))}, nil
	case 2, 3:
		return []rra.Value{rra.Float(float64(r.IntN(1000)) / 10)}, nil
	}
	switch x.id % 5 {
	case 0:
		return []rra.Value{rra.Float(7)}, nil
	case 1:
		return []rra.Value{rra.Float(float64(r.IntN(100)))}, nil
	case 2:
		return []rra.Value{rra.Float(float64(r.IntN(1e6)) / 100)}, nil
	case 3:
		return []rra.Value{rra.Int(r.Int64N(1e9))}, nil
	}
	if r.IntN(20) == 0 {
		return []rra.Value{rra.Unknown}, nil
	}
	return []rra.Value{rra.Float(r.NormFloat64())}, nil
}

func (p *crashPlan) spec(x *planSeries, start int64) core.Spec {
	labels := []core.Label{{Name: "app", Value: fmt.Sprint(p.app)}, {Name: "kind", Value: fmt.Sprint(x.kind)}}
	return core.Spec{Path: x.path, Labels: labels, Definition: p.kinds[x.kind].def, Start: rra.Seconds(start)}
}

// specs is what a create operation makes.
func (p *crashPlan) specs(o *planOp) (specs []core.Spec) {
	for _, x := range o.create {
		specs = append(specs, p.spec(x, o.start))
	}
	return specs
}
