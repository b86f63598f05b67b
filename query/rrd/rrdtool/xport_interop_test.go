package rrdtool_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestXportAsOriginal runs random xport commands through rrdtool and Run, each in a process of its
// own.
func TestXportAsOriginal(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := seedtest.Rand(t)
			o := newOriginal(t)
			s := open(t)
			loc := berlin(t)
			n := seedtest.Programs(12, 10)
			failed := 0
			var g *xportGenerator
			for i := range n {
				dir := strconv.Itoa(i / 10)
				folder := filepath.Join(o.dir, dir)
				if i%10 == 0 {
					g = &xportGenerator{r: rand.New(rand.NewPCG(r.Uint64(), 4))}
					if err := os.Mkdir(folder, 0o777); err != nil {
						t.Fatal(err)
					}
					for _, args := range g.files() {
						me := &rondo{store: s, dir: dir, now: time.Now(), loc: loc}
						want, got := o.run(folder, args), me.run(args)
						if want.Exit != 0 || got.Exit != 0 {
							t.Fatalf("%s: %v, %v", quoted(args), want, got)
						}
					}
					if e, ok := s.(*core.Store); ok && i%20 == 10 {
						if err := e.Checkpoint(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				}
				args := g.xport()
				me := &rondo{store: s, dir: dir, now: time.Now(), loc: loc}
				want, got := o.run(folder, args), me.run(args)
				if want.Exit == -1 {
					continue // it crashed
				}
				if want.Exit == 1 {
					failed++
				}
				if d := cmp.Diff(comparable(want), comparable(got)); d != "" {
					t.Fatalf("program %d (-rrdtool +rondo):\ncd %s\nrrdtool %s\n%s", i, folder, quoted(args), d)
				}
			}
			t.Logf("%d commands compared, of which %d failed alike", n, failed)
		})
	}
}

// shifts matches a SHIFT by a time that is not 0.
var shifts = regexp.MustCompile(`^SHIFT:.*[:=][-+]?0*[1-9]`)

// TestXportLinesAsOriginal runs xport with lines that are put together at random: keys, positions,
// colons and backslashes.
func TestXportLinesAsOriginal(t *testing.T) {
	r := seedtest.Rand(t)
	o := newOriginal(t)
	me := &rondo{store: newMemory(), now: time.Now(), loc: time.UTC}
	g := &xportGenerator{r: r}
	for _, args := range g.files() {
		if want, got := o.run(o.dir, args), me.run(args); want.Exit != 0 || got.Exit != 0 {
			t.Fatal(want, got)
		}
	}
	crashed, failed, n := 0, 0, seedtest.Programs(20, 10)
	for i := range n {
		lines := []string{"DEF:a=a.rrd:x:AVERAGE", "VDEF:v=a,LAST", g.mixed(), "XPORT:a"}
		if g.one(3) {
			lines = slices.Insert(lines, 2, g.mixed())
		}
		args := append([]string{"xport", "-s", fmt.Sprint(g.begin + 100), "-e", fmt.Sprint(g.begin + 200)}, lines...)
		want := o.run(o.dir, args)
		switch {
		case want.Exit == -1, strings.Contains(want.Stderr, "unknown type variable"):
			crashed++ // or prints what lies in its memory
			continue
		case want.Exit == 1:
			failed++
		case slices.ContainsFunc(lines, shifts.MatchString):
			crashed++ // it reads what lies in front of its rows
			continue
		}
		if d := cmp.Diff(comparable(want), comparable(me.run(args))); d != "" {
			t.Fatalf("program %d (-rrdtool +rondo):\nrrdtool %s\n%s", i, quoted(args), d)
		}
	}
	if crashed > n/4 {
		t.Errorf("rrdtool crashed, or told what lies in its memory, at %d of %d commands", crashed, n)
	}
	t.Logf("%d commands compared, of which %d failed alike; rrdtool crashed at %d", n, failed, crashed)
}

// mixed is a function and random arguments. DEF is not among them: rrdtool reads the keys of a DEF
// differently depending on how many arguments there are.
func (g *xportGenerator) mixed() string {
	if g.one(2) { // most of the others are wrong
		right := g.pick("CDEF:q=a,1,+", "CDEF:vname=q:rpn=a,2,*", "CDEF:rpn=a,2,*:vname=q", "VDEF:q=a,LAST", "VDEF:vname=q:rpn=a,MAXIMUM", "SHIFT:a:0", "SHIFT:vname=a:shift=0",
			"SHIFT:shift=0:a", "XPORT:a:x", "XPORT:vname=a:legend=l", "XPORT:legend=l:a", "a:cmd=XPORT", `XPORT:a:x\:y`, "XPORT:a:k=v")
		if g.one(3) {
			right += g.pick(":", ":x", ":k=v", ":legend=l", ":vname=a", "=", `\:`)
		}
		return right
	}
	return g.pick("CDEF", "VDEF", "SHIFT", "XPORT") + g.arguments()
}

func (g *xportGenerator) arguments() string {
	var line strings.Builder
	for range g.r.IntN(6) {
		line.WriteString(g.pick(":", ":", ":", ":", ":", `\:`, "", "=", "::") + g.pick("a", "b", "v", "q=a.rrd", "q=a", "q=a,1,+", "q=a,LAST", "a.rrd", "x", "y", "AVERAGE", "MAX", "vname=w", "vname=a", "rrd=a.rrd", "rpn=a,2,*", "rpn=a,MAXIMUM",
			"ds=y", "cf=LAST", "step=20", "reduce=MIN", fmt.Sprintf("start=%d", g.begin), "start=end-1h", "end=start+2h", "legend=l", "shift=0", "0", "=", "k=", "cmd=XPORT", "a,1,+", "a,FIRST", "v,LAST", "1x", "foo", ""))
	}
	return line.String()
}

// An xportGenerator makes series, and xport commands that are mostly right.
type xportGenerator struct {
	r          *rand.Rand
	begin, end int64
	steps      []int64
	vars       []string // DEF and CDEF
	numbers    []string // VDEF
	start, to  int64
	margin     int64 // by how much DEFs reach farther than the whole
}

func (g *xportGenerator) pick(s ...string) string { return s[g.r.IntN(len(s))] }
func (g *xportGenerator) one(n int) bool          { return g.r.IntN(n) == 0 }

var xportFiles = []string{"a.rrd", "b.rrd", "c.rrd"}

// files creates and fills the series.
func (g *xportGenerator) files() [][]string {
	var program [][]string
	g.begin = 1200000000 + g.r.Int64N(5000)
	g.steps = nil
	for _, name := range xportFiles {
		step := []int64{10, 10, 15, 60, 7, 300}[g.r.IntN(6)]
		g.steps = append(g.steps, step)
		create := []string{"create", name, "--start", fmt.Sprint(g.begin), "--step", fmt.Sprint(step), fmt.Sprintf("DS:x:GAUGE:%d:U:U", 2*step)}
		create = append(create, fmt.Sprintf("DS:y:GAUGE:%d:U:U", 3*step), "RRA:AVERAGE:0.5:1:"+g.pick("20", "100"))
		for range g.r.IntN(4) {
			create = append(create, fmt.Sprintf("RRA:%s:0.5:%d:%d", g.pick("AVERAGE", "MIN", "MAX", "LAST"), 1+g.r.IntN(8), 10+g.r.IntN(50)))
		}
		if g.one(4) {
			create = append(create, "RRA:HWPREDICT:40:0.1:0.1:7")
		}
		update := []string{"update", name}
		at := g.begin
		for range 20 + g.r.IntN(90) {
			at += step
			if g.one(15) {
				at += step * g.r.Int64N(12)
			}
			if g.one(4) {
				at += g.r.Int64N(step)
			}
			update = append(update, fmt.Sprintf("%d:%s:%s", at, g.reading(), g.reading()))
		}
		g.end = max(g.end, at)
		program = append(program, create, update)
	}
	return program
}

func (g *xportGenerator) reading() string {
	if g.one(12) {
		return "U"
	}
	return g.pick(strconv.Itoa(g.r.IntN(1000)), fmt.Sprintf("%.3f", g.r.NormFloat64()*100), strconv.Itoa(-g.r.IntN(10)), fmt.Sprintf("%g", g.r.ExpFloat64()*1e9),
		fmt.Sprintf("%d5", 1e10+g.r.Int64N(9e10)), fmt.Sprintf("%d5e-%d", 1e10+g.r.Int64N(9e10), g.r.IntN(300)))
}

func (g *xportGenerator) xport() []string {
	g.vars, g.numbers, g.margin = nil, nil, 0
	args := []string{"xport"}
	g.to = g.begin + g.r.Int64N(g.end-g.begin+200)
	g.start = g.to - g.r.Int64N([]int64{100, 1000, 10000}[g.r.IntN(3)])
	from, to := fmt.Sprint(g.start), fmt.Sprint(g.to)
	switch g.r.IntN(8) {
	case 0:
		from = fmt.Sprintf("end-%ds", g.to-g.start)
	case 1:
		to = fmt.Sprintf("start+%ds", g.to-g.start)
	}
	options := [][]string{{g.pick("-s", "--start"), from}, {g.pick("-e", "--end"), to}}
	if g.one(3) {
		options = append(options, []string{g.pick("-m", "--maxrows"), strconv.Itoa(10 + g.r.IntN(100))})
	}
	if g.one(3) {
		options = append(options, []string{"--step", g.pick("0", "1", "7", "10", "20", "30", "60", "100", "300", "1200", "x", "-3", "12s")})
	}
	for _, o := range []string{"--json", g.pick("-t", "--showtime"), "--enumds"} {
		if g.one(3) {
			options = append(options, []string{o})
		}
	}
	if g.one(3) {
		g.margin = 2000
	}
	lines := g.lines()
	if g.one(5) && g.margin == 0 { // rrdtool reads what is not there of a column that is shifted and has no margin
		lines[g.r.IntN(len(lines))] = g.wrong()
	}
	if g.one(40) {
		options = append(options, []string{g.pick("-m5", "--foo", "-q", "--json=1", "-sfoo", "-eend", "-m", "--step", "--maxrows=9", "-s1/1/79", "-e1000000000")})
	}
	g.r.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	if g.one(5) {
		args = append(args, lines...)
		lines = nil
	}
	for _, o := range options {
		args = append(args, o...)
	}
	return append(args, lines...)
}

// lines are the lines of a program.
func (g *xportGenerator) lines() []string {
	var lines []string
	for i := range 1 + g.r.IntN(3) {
		v := fmt.Sprintf("d%d", i)
		lines = append(lines, g.def(v))
		g.vars = append(g.vars, v)
	}
	for i := range g.r.IntN(6) {
		switch g.r.IntN(4) {
		case 0, 1:
			v := fmt.Sprintf("c%d", i)
			lines = append(lines, "CDEF:"+v+"="+g.cdef())
			g.vars = append(g.vars, v)
		case 2:
			of := g.vars[g.r.IntN(len(g.vars))]
			if g.one(4) { // rrdtool gives any number for PERCENTNAN of nothing
				lines = append(lines, fmt.Sprintf("CDEF:k%d=%s,UN,COUNT,%s,IF", i, of, of), fmt.Sprintf("VDEF:v%d=k%d,%s,PERCENTNAN", i, i, g.percent()))
			} else {
				lines = append(lines, fmt.Sprintf("VDEF:v%d=%s,%s", i, of, g.function()))
			}
			g.numbers = append(g.numbers, fmt.Sprintf("v%d", i))
		case 3:
			if g.margin > 0 {
				lines = append(lines, fmt.Sprintf("SHIFT:%s:%d", g.vars[g.r.IntN(len(g.vars))], g.r.IntN(1000)-500))
			}
		}
	}
	for range 1 + g.r.IntN(4) {
		lines = append(lines, "XPORT:"+g.vars[g.r.IntN(len(g.vars))]+g.pick("", ":", ":leg", ":  a text", `:x\:y`, ":legend=l", ":k=v", `:a\\b<&"`, ":ü"))
	}
	return lines
}

func (g *xportGenerator) def(name string) string {
	file := g.r.IntN(len(xportFiles))
	var b strings.Builder
	fmt.Fprintf(&b, "DEF:%s=%s:%s:%s", name, xportFiles[file], g.pick("x", "y"), g.pick("AVERAGE", "AVERAGE", "AVERAGE", "MIN", "MAX", "LAST"))
	if g.margin > 0 {
		if g.one(3) {
			fmt.Fprintf(&b, ":start=%d:end=start+%ds", g.start-g.margin, g.to-g.start+2*g.margin+g.r.Int64N(100))
		} else {
			fmt.Fprintf(&b, ":start=%d:end=%d", g.start-g.margin-g.r.Int64N(100), g.to+g.margin+g.r.Int64N(100))
		}
	}
	if g.one(4) {
		fmt.Fprintf(&b, ":step=%d", 1+g.r.IntN(100))
	}
	if g.one(4) {
		b.WriteString(":reduce=" + g.pick("AVERAGE", "MIN", "MAX", "LAST", "HWPREDICT", "FAILURES"))
	}
	return b.String()
}

func (g *xportGenerator) percent() string {
	return g.pick("0", "5", "50", "95", "100", "33.3", "99.9")
}

func (g *xportGenerator) function() string {
	return g.pick("MAXIMUM", "MINIMUM", "AVERAGE", "STDEV", "LAST", "FIRST", "TOTAL", "LSLSLOPE", "LSLINT", "LSLCORREL", g.percent()+",PERCENT")
}

// cdef is an expression with at least one variable.
func (g *xportGenerator) cdef() string {
	v := func() string { return g.vars[g.r.IntN(len(g.vars))] }
	e := v()
	for range 1 + g.r.IntN(3) {
		operand := v()
		switch {
		case len(g.numbers) > 0 && g.one(3):
			operand = g.numbers[g.r.IntN(len(g.numbers))]
		case g.one(3):
			operand = g.pick("3", "0.5", "-7", "1e3", "UNKN", "INF", "TIME", "COUNT", "STEPWIDTH", "LTIME", "NEWDAY", "PREV")
		}
		e += "," + operand + "," + g.pick("+", "-", "*", "/", "MIN", "MAX", "ADDNAN", "MINNAN", "MAXNAN", "%", "GT", "LE", "EXC,-", "POP,DUP,+", "2,SORT,-", "2,AVG", "2,STDEV", "2,SMAX")
		e += g.pick("", "", "", ",UN", ",ABS", ",FLOOR", ",0,100,LIMIT", ",DUP,UN,0,EXC,IF", ",1,2,IF", ",SQRT")
	}
	if g.one(5) {
		e = v() + "," + g.pick("60", "300", "10") + "," + g.pick("TREND", "TRENDNAN")
	}
	return e
}

// wrong is a line that rrdtool refuses, or should think twice about.
func (g *xportGenerator) wrong() string {
	return strings.NewReplacer("@", g.vars[0]).Replace(g.pick(
		"XPORT:@:a:b", "XPORT", "XPORT:", "XPORT:1x", "XPORT:nosuch", "XPORT:legend=x", "XPORT:legend=x:foo=@:y", "XPORT:@:vname=@",
		"foo", "", "-", "foo:bar", "xport:@", "DEFX:a", "CDEFS:x",
		"DEF:a", "DEF:", "DEF:a=a.rrd", "DEF:a=a.rrd:x", "DEF:a=a.rrd:x:FOO", "DEF:a=a.rrd:z:AVERAGE", "DEF:a=z.rrd:x:AVERAGE", "DEF:a=a.rrd:x:AVERAGE:foo",
		"DEF:a=a.rrd:x:AVERAGE:foo=3:x", "DEF:a=a.rrd:x:AVERAGE:step=0", "DEF:a=a.rrd:x:AVERAGE:step=5x", "DEF:a=a.rrd:x:AVERAGE:reduce=foo", "DEF:@=b.rrd:x:AVERAGE",
		"DEF:a=a.rrd:x:AVERAGE:start=foo", "DEF:a=a.rrd:x:AVERAGE:end=foo", "DEF:a=a.rrd:x:AVERAGE:end=1000000000", "DEF:a=a.rrd:x:AVERAGE:start=start-1h",
		"DEF:a=a.rrd:x:AVERAGE:start=end-1h:end=start+1h", "DEF:a=a.rrd:x:AVERAGE:step=10:step=20", "DEF:a=a.rrd:x:DEVSEASONAL", "DEF:a:a.rrd:x:AVERAGE", "DEF:vname=a:rrd=a.rrd:ds=x:cf=AVERAGE",
		"DEF:q=x:AVERAGE:rrd=a.rrd", "DEF:a=a.rrd:foo=3:AVERAGE", "DEF:step=10:a=a.rrd:x:AVERAGE", `DEF:a=a\:b.rrd:x:AVERAGE`, "DEF:a=a.rrd:x:AVERAGE:start=bar:step=foo", "DEF:a=a.rrd:x:BVERAGE:reduce=bar:step=foo:foo",
		"CDEF", "CDEF:", "CDEF:b", "CDEF:b=", "CDEF:@=@", "CDEF:b=@,nosuch,+", "CDEF:b=@,+", "CDEF:b=@,2", "CDEF:b=1,2,+", "CDEF:b=@:foo", "CDEF:b=@,@", "CDEF:b=@,2,+,", "CDEF:rpn=@", "CDEF:vname=b:rpn=@",
		"VDEF", "VDEF:", "VDEF:v", "VDEF:v=", "VDEF:v=@", "VDEF:v=@,FOO", "VDEF:v=@,foo", "VDEF:v=@,PERCENT", "VDEF:v=@,101,PERCENT", "VDEF:v=@,-1,PERCENT", "VDEF:v=@,5,MAXIMUM", "VDEF:v=nosuch,MAXIMUM", "VDEF:v=,MAXIMUM",
		"VDEF:v=@,5", "VDEF:v=@,5,percent", "VDEF:v=@,1e400,PERCENT", "VDEF:v=@,1-2,PERCENT", "VDEF:v=@,5,PERCENT,x", "VDEF:v=@,MAXIMUM:x", "VDEF:@=@,MAXIMUM", "VDEF:v=v,MAXIMUM", "VDEF:v=@,INF,PERCENT", "VDEF:v=@,5PERCENT", "VDEF:v=@,", "VDEF:v=@,1e,PERCENT",
		"VDEF:v=@,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "VDEF:v=@,5,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"SHIFT", "SHIFT:", "SHIFT:@", "SHIFT:@:", "SHIFT:@:x", "SHIFT:@:1h", "SHIFT:@:0x10", "SHIFT:nosuch:10", "SHIFT:@:@", "SHIFT:@:0:20", "SHIFT:@:foo=0", "SHIFT:vname=@:shift=0", "SHIFT:@:0:shift=0", "SHIFT:@=0",
	))
}
