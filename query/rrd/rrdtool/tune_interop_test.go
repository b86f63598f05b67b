package rrdtool_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestTuneAsOriginal runs random tune commands between updates through rrdtool and Run. What
// rrdtool leaves in a file it has damaged, or makes of rows that have been overwritten, is left
// out: docs/rrdtool-compat.md has the list.
func TestTuneAsOriginal(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := seedtest.Rand(t)
			o := newOriginal(t)
			s := open(t)
			n := seedtest.Programs(10, 10)
			for i := range n {
				if e, ok := s.(*core.Store); ok && i%20 == 10 {
					if err := e.Checkpoint(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				g := &generator{r: rand.New(rand.NewPCG(r.Uint64(), 4))}
				compare(t, o, s, i, g.tunes())
				if t.Failed() {
					return
				}
			}
			t.Logf("%d programs compared", n)
		})
	}
}

// tunes is a program that tunes a series between updates.
func (g *generator) tunes() [][]string {
	program := [][]string{g.create("a.rrd")}
	for i, arg := range program[0] { // who brought an archive along is a guess where it could as well have been given
		if (strings.HasPrefix(arg, "RRA:SEASONAL") || strings.HasPrefix(arg, "RRA:DEVSEASONAL")) && !strings.Contains(arg, "smoothing") {
			program[0][i] += ":smoothing-window=0.1"
		}
	}
	for range 5 + g.r.IntN(15) {
		switch g.r.IntN(3) {
		case 0:
			program = append(program, g.tune(), []string{"info", "a.rrd"})
		case 1:
			program = append(program, g.fetch())
		default:
			program = append(program, g.update("update"))
		}
	}
	program = append(program, []string{"info", "a.rrd"})
	for _, cf := range slices.Compact(slices.Sorted(slices.Values(g.cfs))) {
		program = append(program, []string{
			"fetch", "a.rrd", cf, "-r", strconv.FormatInt(g.step, 10),
			"-s", strconv.FormatInt(g.last-100*g.step, 10), "-e", strconv.FormatInt(g.last+g.step, 10),
		})
	}
	return program
}

// tune is one tune command: options mostly.
func (g *generator) tune() []string {
	args := []string{"tune", g.name()}
	for range 1 + g.r.IntN(3) {
		args = append(args, g.tuneOption()...)
	}
	if g.one(20) {
		args = append(args, g.pick("foo", "DEL:", "DELx", "RRA#0", "RRA#0:5", "RRA#0:*5", "DELRRA:-1", "RRA:", "RRA:FOO", "RRA:AVERAGE:2:1:5", "DEL:nosuch"))
	}
	if g.one(15) { // options may stand anywhere
		args = append([]string{"tune"}, append(args[2:], args[1])...)
	}
	return args
}

func (g *generator) tuneOption() []string {
	i := g.r.IntN(len(g.names))
	ds := g.names[i]
	if g.kinds[i] == "COMPUTE" {
		i, ds = 0, g.names[0]
	}
	if g.one(15) {
		ds = g.pick("nosuch", "", "x.y", "abcdefghijklmnopqrstuvw")
	}
	flag := func(short, long, v string) []string {
		switch g.r.IntN(3) {
		case 0:
			return []string{"-" + short, v}
		case 1:
			return []string{"--" + long + "=" + v}
		}
		return []string{"--" + long, v}
	}
	unit := func() string {
		return g.pick("0.1", "0.5", "0.0035", "0.9", "1e-2", "0", "1", "2", "x", "0.3x", "-0.1")
	}
	count := func() string { return g.pick("1", "5", "9", "28", "29", "0", "x", "-3", "7x") }
	which := g.r.IntN(14)
	if which > 11 && !slices.Contains(g.cfs, "SEASONAL") {
		which = 0 // rrdtool makes a file of version 4 of it all the same
	}
	switch which {
	case 0, 1:
		return flag("h", "heartbeat", ds+g.pick(":", ":", ":", "")+g.pick("20", "40", "100", "7x", "600", "x", ""))
	case 2:
		return flag("i", "minimum", ds+":"+g.pick("0", "-100", "U", "-1e3", "Ux", "x", "", " 5", "1e0", "5-5", "0.1"))
	case 3:
		return flag("a", "maximum", ds+":"+g.pick("1000", "1e6", "U", "12345.678", "x", "1e+9x", "nan"))
	case 4:
		kind := g.pick("GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "FOO", "gauge", "")
		if ds == g.names[i] && kind != "FOO" && kind != "gauge" && kind != "" && g.kinds[i] != "DCOUNTER" && g.kinds[i] != "DDERIVE" {
			g.kinds[i] = kind
			return flag("d", "data-source-type", ds+":"+kind)
		}
		return flag("d", "data-source-type", ds+":"+g.pick("FOO", "gauge", ""))
	case 5:
		next := fmt.Sprintf("n%d_%d", i, g.r.IntN(1000))
		if ds == g.names[i] {
			g.names[i] = next
		}
		return flag("r", "data-source-rename", ds+":"+next)
	case 6:
		return flag("p", "deltapos", g.pick("1", "3.5", "0", "-1", "2x", "1e-1"))
	case 7:
		return flag("n", "deltaneg", g.pick("1", "3.5", "0", "-1", "2x", "1e-1"))
	case 8:
		return flag("b", "aberrant-reset", ds)
	case 9:
		return flag(g.pick("x"), "alpha", unit())
	case 10:
		return flag("y", "beta", unit())
	case 11:
		if g.one(2) {
			return flag("z", "gamma", unit())
		}
		return flag("v", "gamma-deviation", unit())
	case 12: // even a wrong one, with its error, makes a file of version 4
		return flag("s", "smoothing-window", g.pick("0", "0.1", "0.4", "1", "0.2x"))
	}
	if g.one(2) {
		return flag("S", "smoothing-window-deviation", g.pick("0", "0.1", "0.4", "1", "0.2x"))
	}
	c := count()
	if c == "9" || c == "28" {
		return flag("w", "window-length", c)
	}
	return append(flag("w", "window-length", "28"), flag("f", "failure-threshold", c)...)
}
