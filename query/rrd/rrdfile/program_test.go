package rrdfile_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A program is a series and what is fed to it, made at random.
type program struct {
	r       *rand.Rand
	start   int64
	step    int64
	args    []string // of create, behind --step
	kinds   []string
	updates [][]string // commands; of each, the samples
	now     int64      // microseconds
	count   []uint64
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func newProgram(r *rand.Rand) *program {
	p := &program{r: r, step: pick(r, 1, 5, 10, 60, 300, 1+r.Int64N(700))}
	p.start = 900_000_000 + r.Int64N(700_000_000)
	p.now = p.start * 1e6
	for i := range 1 + r.IntN(1+r.IntN(4)) {
		p.addSource(i)
	}
	n := 1 + r.IntN(5)
	for range n {
		p.addArchive()
	}
	if r.IntN(3) == 0 {
		p.addFamily(n)
	}
	for range 3 + r.IntN(25) {
		p.addUpdate()
	}
	return p
}

func (p *program) addSource(i int) {
	r := p.r
	kind := pick(r, "GAUGE", "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE", "COMPUTE")
	name := fmt.Sprintf("%s%d", pick(r, "x", "in", "out-1", "A_b", "longer-than-others"), i)
	if kind == "COMPUTE" && i > 0 {
		first, _, _ := strings.Cut(p.args[0][3:], ":")
		last, _, _ := strings.Cut(p.args[i-1][3:], ":")
		p.args = append(p.args, "DS:"+name+":COMPUTE:"+first+pick(r, ",2,*", ",UN,0,1,IF", ",100,GT,UNKN,5,IF", ",-3,+,ABS", ","+last+",ADDNAN",
			","+last+",MAX,DUP,-32768,EXC,32767,LIMIT", ",0,POW,SQRT", ",1,2,3,SORT,POP,POP,POP", ","+last+",0,4,AVG,POP,ISINF"))
	} else {
		if kind == "COMPUTE" {
			kind = "GAUGE"
		}
		p.args = append(p.args, fmt.Sprintf("DS:%s:%s:%d:%s:%s", name, kind, p.step*(1+r.Int64N(5)),
			pick(r, "U", "U", "0", "-50", "1e-3"), pick(r, "U", "U", "1000", "1e6", "123.456")))
	}
	p.kinds = append(p.kinds, kind)
	p.count = append(p.count, pick(r, 0, 1<<32-r.Uint64N(1000), r.Uint64()))
}

func (p *program) addArchive() {
	r := p.r
	p.args = append(p.args, fmt.Sprintf("RRA:%s:%s:%d:%d", pick(r, "AVERAGE", "AVERAGE", "MIN", "MAX", "LAST"),
		pick(r, "0.5", "0", "0.9", "0.25", "0.123"), pick(r, 1, 1, 1+r.IntN(10), 60), 1+r.IntN(20)))
}

// addFamily adds archives that predict, behind n others.
func (p *program) addFamily(n int) {
	r := p.r
	period := 2 + r.IntN(8)
	rows := period + r.IntN(12)
	factor := func() string { return pick(r, "0.1", "0.5", "0.0035", "0.9") }
	cf := pick(r, "HWPREDICT", "HWPREDICT", "MHWPREDICT")
	if r.IntN(2) == 0 {
		p.args = append(p.args, fmt.Sprintf("RRA:%s:%d:%s:%s:%d", cf, rows, factor(), factor(), period))
		return
	}
	smooth := func() string {
		return pick(r, "", "", ":smoothing-window=0.2", ":smoothing-window=0", ":smoothing-window=1")
	}
	p.args = append(p.args,
		fmt.Sprintf("RRA:%s:%d:%s:%s:%d:%d", cf, rows, factor(), factor(), period, n+2),
		fmt.Sprintf("RRA:SEASONAL:%d:%s:%d%s", period, factor(), n+1, smooth()),
		fmt.Sprintf("RRA:DEVSEASONAL:%d:%s:%d%s", period+r.IntN(2), factor(), n+1, smooth()),
		fmt.Sprintf("RRA:DEVPREDICT:%d:%d", 1+r.IntN(rows), n+3),
		fmt.Sprintf("RRA:FAILURES:%d:%d:%d:%d", 1+r.IntN(rows), 1+r.IntN(3), 3+r.IntN(26), n+3))
}

func (p *program) addUpdate() {
	r := p.r
	var samples []string
	for range pick(r, 1, 1, 3, 1+r.IntN(15)) {
		step := p.step * 1e6
		switch r.IntN(10) {
		case 0:
			p.now += step * (1 + r.Int64N(40))
		case 1:
			p.now += 1 + r.Int64N(3*step)
		case 2:
			p.now += step/2 + 1
		case 3:
			p.now = p.now/step*step + 2*step
		default:
			p.now += step
		}
		at := strconv.FormatInt(p.now/1e6, 10)
		if us := p.now % 1e6; us != 0 {
			if r.IntN(4) == 0 {
				at = strings.TrimRight(fmt.Sprintf("%s.%06d", at, us), "0")
			} else {
				p.now += 1e6 - us
				at = strconv.FormatInt(p.now/1e6, 10)
			}
		}
		for i, kind := range p.kinds {
			if kind != "COMPUTE" {
				at += ":" + p.reading(i, kind)
			}
		}
		samples = append(samples, at)
	}
	p.updates = append(p.updates, samples)
}

func (p *program) reading(i int, kind string) string {
	r := p.r
	switch {
	case r.IntN(10) == 0:
		return pick(r, "U", "U", "UNKN")
	case r.IntN(30) == 0:
		p.count[i] = r.Uint64()
	default:
		p.count[i] += r.Uint64N(5000)
	}
	v := p.count[i]
	if kind == "COUNTER" || kind == "DERIVE" {
		return pick(r, "", "", "000000") + strconv.FormatUint(v, 10)
	}
	return pick(r, strconv.FormatUint(v%1500, 10), fmt.Sprintf("%.2f", float64(v%100000)/7), fmt.Sprintf("%g", r.NormFloat64()*1e3),
		fmt.Sprintf("%.30f", r.Float64()), "1e3", "-0", "5.", "nan", "inf", "1e-310")
}

// create are the arguments of create.
func (p *program) create(name string) []string {
	return append([]string{"create", name, "-b", strconv.FormatInt(p.start, 10), "-s", strconv.FormatInt(p.step, 10)}, p.args...)
}

func (p *program) String() string {
	return fmt.Sprintf("-b %d -s %d %s", p.start, p.step, strings.Join(p.args, " "))
}

// update runs a command; rrdtool's refusal of a sample is as good as any.
func (p *program) update(tool *peer, name string, i int) error {
	_, err := tool.do(slices.Concat([]string{"update", name}, p.updates[i])...)
	return err
}
