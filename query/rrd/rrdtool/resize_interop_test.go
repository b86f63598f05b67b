package rrdtool_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestResizeAsOriginal makes longer and shorter copies of series with rrdtool and with Run, and
// goes on with the copies.
func TestResizeAsOriginal(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := seedtest.Rand(t)
			o := newOriginal(t)
			s := open(t)
			n := seedtest.Programs(8, 10)
			for i := range n {
				g := &generator{r: rand.New(rand.NewPCG(r.Uint64(), 7))}
				compare(t, o, s, i, g.resizes())
				if t.Failed() {
					return
				}
			}
			t.Logf("%d programs compared", n)
		})
	}
}

func (g *generator) resizes() [][]string {
	program := [][]string{g.create("a.rrd")}
	for range 5 + g.r.IntN(5) {
		program = append(program, g.update("update"))
	}
	for range 1 + g.r.IntN(3) {
		program = append(program, []string{
			"resize", g.name(), g.pick("0", "1", "2", "3", "9", "x", "-1", "0x", "0x1", "01"), g.pick("GROW", "SHRINK", "GROW", "grow"),
			g.pick("1", "2", "3", "7", "0", "-1", "2x", "0x3", "010"),
		})
	}
	program = append(program, []string{"resize", "resize.rrd", "0", "GROW", "1"}, []string{"resize", "a.rrd", "0", "GROW"})
	if slices.Contains(g.kinds, "DCOUNTER") || slices.Contains(g.kinds, "DDERIVE") {
		return program // refused, but not before there is a piece of a file
	}
	program = append(program, []string{"resize", "a.rrd", "0", "GROW", "1"}, []string{"info", "a.rrd"})
	for range 10 {
		u := g.update("update")
		u[1] = "resize.rrd"
		program = append(program, u)
	}
	for _, cf := range g.cfs {
		program = append(program, []string{
			"fetch", "resize.rrd", cf, "-r", strconv.FormatInt(g.step, 10),
			"-s", strconv.FormatInt(g.last-100*g.step, 10), "-e", strconv.FormatInt(g.last+g.step, 10),
		})
	}
	return append(program, []string{"info", "resize.rrd"})
}
