package rrdtool_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A generator makes programs: command lines on one or two series, mostly right.
type generator struct {
	r     *rand.Rand
	step  int64
	last  int64
	names []string
	kinds []string
	cfs   []string
	value []int64
}

func (g *generator) pick(s ...string) string { return s[g.r.IntN(len(s))] }
func (g *generator) one(n int) bool          { return g.r.IntN(n) == 0 }

func (g *generator) program() [][]string {
	program := [][]string{g.create("a.rrd")}
	for range 5 + g.r.IntN(25) {
		program = append(program, g.command())
	}
	return append(program, []string{"info", "a.rrd"}, []string{"lastupdate", "a.rrd"})
}

// version3 reports whether the series makes a plain file. rrdtool gives a copy of
// one of a later version version 3 all the same, and then forgets what it means.
func (g *generator) version3() bool {
	for _, s := range append(slices.Clone(g.kinds), g.cfs...) {
		if s == "DDERIVE" || s == "DCOUNTER" || s == "SEASONAL" {
			return false
		}
	}
	return true
}

// copies is a series made from another.
func (g *generator) copies() []string {
	args := []string{"create", "c.rrd", g.pick("-t", "--template"), g.name(), "--start", strconv.FormatInt(g.last, 10)}
	if g.one(2) {
		args = append(args, "DS:more:GAUGE:100:0:10")
	}
	if g.one(2) {
		args = append(args, "RRA:MAX:0.5:3:7")
	}
	if g.one(3) {
		args = append(args, "--step", strconv.Itoa(1+g.r.IntN(300)))
	}
	return args
}

func (g *generator) create(name string) []string {
	g.step = []int64{1, 5, 10, 60, 300, 7}[g.r.IntN(6)]
	g.last = 1200000000 + g.r.Int64N(100000)
	g.names, g.kinds, g.cfs, g.value = nil, nil, nil, nil
	args := []string{"create", name, g.pick("--start", "-b"), strconv.FormatInt(g.last, 10)}
	args = append(args, g.pick("--step=", "-s")+strconv.FormatInt(g.step, 10))
	for i := range 1 + g.r.IntN(3) {
		ds := g.pick("x", "in", "out-1", "A_b") + strconv.Itoa(i)
		kind := g.pick("GAUGE", "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE", "COMPUTE")
		if kind == "COMPUTE" && i == 0 {
			kind = "GAUGE"
		}
		if kind == "COMPUTE" {
			args = append(args, "DS:"+ds+":COMPUTE:"+g.names[g.r.IntN(i)]+g.pick(",2,*", ",UN,0,1,IF", ",100,GT,UNKN,5,IF", ",-3,+,ABS"))
		} else {
			args = append(args, fmt.Sprintf("DS:%s:%s:%d:%s:%s", ds, kind, g.step*int64(1+g.r.IntN(4)),
				g.pick("U", "U", "0", "-50"), g.pick("U", "U", "1000", "1e6")))
		}
		g.names, g.kinds = append(g.names, ds), append(g.kinds, kind)
		g.value = append(g.value, g.r.Int64N(1000))
	}
	for range 1 + g.r.IntN(4) {
		cf := g.pick("AVERAGE", "AVERAGE", "MIN", "MAX", "LAST")
		args = append(args, fmt.Sprintf("RRA:%s:%s:%d:%d", cf, g.pick("0.5", "0", "0.9", "0.25"), 1+g.r.IntN(4)*g.r.IntN(4), 1+g.r.IntN(20)))
		g.cfs = append(g.cfs, cf)
	}
	if g.one(3) {
		args = append(args, g.holtWinters(len(g.cfs))...)
	}
	return args
}

// holtWinters are archives that predict, behind n others.
func (g *generator) holtWinters(n int) []string {
	period := 2 + g.r.IntN(6)
	rows := period + g.r.IntN(12)
	factor := func() string { return g.pick("0.1", "0.5", "0.0035", "0.9") }
	cf := g.pick("HWPREDICT", "HWPREDICT", "MHWPREDICT")
	g.cfs = append(g.cfs, cf, "SEASONAL", "DEVSEASONAL", "DEVPREDICT", "FAILURES")
	if g.one(2) {
		return []string{fmt.Sprintf("RRA:%s:%d:%s:%s:%d", cf, rows, factor(), factor(), period)}
	}
	smooth := func() string { return g.pick("", "", ":smoothing-window=0.2", ":smoothing-window=0") }
	return []string{
		fmt.Sprintf("RRA:%s:%d:%s:%s:%d:%d", cf, rows, factor(), factor(), period, n+2),
		fmt.Sprintf("RRA:SEASONAL:%d:%s:%d%s", period, factor(), n+1, smooth()),
		fmt.Sprintf("RRA:DEVSEASONAL:%d:%s:%d%s", period, factor(), n+1, smooth()),
		fmt.Sprintf("RRA:DEVPREDICT:%d:%d", 1+g.r.IntN(rows), n+3),
		fmt.Sprintf("RRA:FAILURES:%d:2:%d:%d", 1+g.r.IntN(rows), 2+g.r.IntN(7), n+3),
	}
}

func (g *generator) command() []string {
	if g.one(12) {
		return g.wrong()
	}
	if g.one(25) && g.version3() {
		return g.copies()
	}
	switch g.r.IntN(12) {
	case 0:
		return g.fetch()
	case 1:
		return g.fetch()
	case 2:
		return []string{"last", g.name()}
	case 3:
		args := []string{"first", g.name()}
		if g.one(2) {
			args = append(args, "--rraindex", strconv.Itoa(g.r.IntN(6)-1))
		}
		return args
	case 4:
		return []string{"lastupdate", g.name()}
	case 5:
		return []string{"info", g.name()}
	case 6, 7:
		return g.update("updatev")
	}
	return g.update("update")
}

func (g *generator) name() string {
	if g.one(20) {
		return g.pick("b.rrd", "./b.rrd", "x/y.rrd", "c.rrd", "c.rrd")
	}
	return g.pick("a.rrd", "a.rrd", "./a.rrd", ".//a.rrd")
}

func (g *generator) update(verb string) []string {
	args := []string{verb, g.name()}
	takes := []int{}
	for i, k := range g.kinds {
		if k != "COMPUTE" {
			takes = append(takes, i)
		}
	}
	if g.one(5) {
		args = append(args, g.pick("-s", "--skip-past-updates"))
	}
	if g.one(4) {
		g.r.Shuffle(len(takes), func(i, j int) { takes[i], takes[j] = takes[j], takes[i] })
		takes = takes[:1+g.r.IntN(len(takes))]
		var names []string
		for _, i := range takes {
			names = append(names, g.names[i])
		}
		args = append(args, g.pick("-t", "--template"), strings.Join(names, ":"))
	}
	for range 1 + g.r.IntN(4)*g.r.IntN(3) {
		args = append(args, g.sample(takes))
	}
	return args
}

func (g *generator) sample(takes []int) string {
	switch g.r.IntN(14) {
	case 0:
		g.last += g.step * g.r.Int64N(40)
	case 1:
		g.last -= g.r.Int64N(3)
	case 2:
		g.last += 0
	case 3:
		g.last += 1 + g.r.Int64N(g.step)
	case 4:
		g.last += g.step*2 - g.last%g.step
	default:
		g.last += g.step
	}
	at := strconv.FormatInt(g.last, 10)
	if g.one(6) {
		at += "." + strconv.Itoa(g.r.IntN(1000000))
	}
	sep := ":"
	if g.one(15) && !strings.Contains(at, ".") {
		sep = "@"
	}
	readings := make([]string, len(takes))
	for i, ds := range takes {
		readings[i] = g.reading(ds)
	}
	s := at + sep + strings.Join(readings, ":")
	if g.one(60) {
		s += g.pick(":1", ":", "@1")
	}
	return s
}

func (g *generator) reading(ds int) string {
	if g.one(12) {
		return "U"
	}
	if g.one(80) {
		return g.pick("", "x", "1e5", "-1", "1.5", "nan", " 1", "1 ", "0x10", "18446744073709551615", "Unknown", "u", "inf")
	}
	g.value[ds] += g.r.Int64N(5000)
	if g.one(20) {
		g.value[ds] = g.r.Int64N(100)
	}
	switch g.kinds[ds] {
	case "COUNTER", "DERIVE":
		return strconv.FormatInt(g.value[ds], 10)
	}
	return g.pick(strconv.FormatInt(g.value[ds]%1500, 10), fmt.Sprintf("%.2f", float64(g.value[ds])/7), fmt.Sprintf("%g", g.r.NormFloat64()*1e3))
}

func (g *generator) fetch() []string {
	cf := g.cfs[g.r.IntN(len(g.cfs))]
	if g.one(4) {
		cf = g.pick("AVERAGE", "MIN", "MAX", "LAST", "HWPREDICT")
	}
	args := []string{"fetch", g.name(), cf}
	end := g.last + g.r.Int64N(20*g.step) - 10*g.step
	start := end - g.r.Int64N(60*g.step)
	e, s := strconv.FormatInt(end, 10), strconv.FormatInt(start, 10)
	switch g.r.IntN(5) {
	case 0:
		s = fmt.Sprintf("end-%ds", end-start)
	case 1:
		e = fmt.Sprintf("start+%ds", end-start)
	}
	args = append(args, g.pick("-s", "--start"), s, g.pick("-e", "--end"), e)
	if g.one(2) {
		args = append(args, g.pick("-r", "--resolution"), g.pick("1", "5m", "1m", "30", strconv.FormatInt(g.step*int64(1+g.r.IntN(12)), 10)))
	}
	if g.one(4) {
		args = append(args, g.pick("-a", "--align-start"))
	}
	if g.one(3) { // options may stand anywhere
		args = append([]string{"fetch"}, append(args[3:], args[1:3]...)...)
	}
	return args
}

// wrong is a command that rrdtool refuses, or should think twice about.
func (g *generator) wrong() []string {
	line := g.pick(
		"last", "last a.rrd b", "last -z a.rrd", "last --zz", "last b.rrd",
		"first a.rrd --rraindex=99", "first a.rrd --rraindex 0x1", "first a.rrd --rraindex 99999999999999999999", "first a.rrd --rraindex x", "first --rraindex 1", "first a.rrd b.rrd", "first b.rrd",
		"lastupdate a.rrd b", "lastupdate -x a.rrd", "lastupdate b.rrd",
		"info a.rrd b", "info -F a.rrd", "info --noflush=1 a.rrd", "info b.rrd", "info --daemon",
		"fetch a.rrd", "fetch a.rrd FOO", "fetch a.rrd average", "fetch b.rrd AVERAGE", "fetch a.rrd AVERAGE -r", "fetch a.rrd AVERAGE -r 0",
		"fetch a.rrd AVERAGE -r 5x", "fetch a.rrd AVERAGE -s foo", "fetch a.rrd AVERAGE -e foo", "fetch a.rrd AVERAGE -s 1200000000 -e start-1d",
		"fetch a.rrd AVERAGE -s end-1d -e start+1d", "fetch a.rrd AVERAGE -s 1/1/71", "fetch a.rrd AVERAGE --align-start=1",
		"fetch a.rrd AVERAGE -s 1200000000 -e 1100000000", "fetch -- a.rrd", "fetch a.rrd AVERAGE -q",
		"update", "update a.rrd", "update a.rrd N", "update a.rrd -z", "update a.rrd -5:1", "update a.rrd 5:1:2:3:4:5:6", "update a.rrd foo:1",
		"update a.rrd -t nosuch N:1", "update a.rrd -t a:b:c:d:e:f N:1", "update b.rrd N:1", "update a.rrd foo@1", "update a.rrd end-1d@1",
		"updatev a.rrd", "updatev b.rrd N:1", "updatev a.rrd N", "updatev -d x a.rrd N:1", "updatev a.rrd -t nosuch N:1",
		"create", "create b.rrd", "create b.rrd foo", "create b.rrd RRA:AVERAGE:0.5:1:5", "create b.rrd DS:x:GAUGE:20:0:100",
		"create b.rrd -s 0", "create b.rrd -s x", "create b.rrd -s 5x", "create b.rrd -b foo", "create b.rrd -b 1/1/71", "create b.rrd -b end-1d",
		"create -s 10", "create a.rrd -O DS:x:GAUGE:20:0:100 RRA:AVERAGE:0.5:1:5", "create a.rrd --no-overwrite=1", "create b.rrd -t nosuch",
		"create b.rrd -r nosuch", "create b.rrd -t a.rrd -t a.rrd", "create b.rrd DS:x:FOO:20:0:1 RRA:AVERAGE:0.5:1:5",
		"create b.rrd DS:x:GAUGE:20:0:1 DS:x:GAUGE:20:0:1 RRA:AVERAGE:0.5:1:5", "create -- -b", "create b.rrd --start",
		"list nosuch", "list -z .", "list ..", "list . .", "list a.rrd", "list .", "list -r .", "list -F .",
		"nosuch", "nosuch a.rrd", "help", "help fetch", "help nosuch", "CREATE a.rrd",
	)
	return strings.Fields(line)
}
