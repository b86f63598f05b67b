package rrdtool_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPrefillAsOriginal makes series of what others hold with rrdtool and with Run.
func TestPrefillAsOriginal(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r, _ := newRand(t)
			o := newOriginal(t)
			s := open(t)
			n := aTenth(15)
			for i := range n {
				g := &generator{r: rand.New(rand.NewPCG(r.Uint64(), 6))}
				p := &restructured{t: t, g: g, o: o, me: &rondo{store: s, dir: strconv.Itoa(i), now: time.Now(), loc: time.UTC}}
				p.dir = filepath.Join(o.dir, strconv.Itoa(i))
				p.prefill()
				if t.Failed() {
					return
				}
			}
			t.Logf("%d programs compared", n)
		})
	}
}

func (p *restructured) prefill() {
	if err := os.Mkdir(p.dir, 0o777); err != nil {
		p.t.Fatal(err)
	}
	p.o.pipe([]string{"cd", p.dir})
	g := p.g
	create := g.create("a.rrd")
	for g.step == 1 { // it passes over rows of one second
		create = g.create("a.rrd")
	}
	// Where rows overlap those of an archive in part, rrdtool's results are hard to explain: the finest has all there is.
	create = append(create, "RRA:AVERAGE:0:1:80")
	start := g.last
	create = slices.DeleteFunc(create, func(arg string) bool { return strings.Contains(arg, "COMPUTE") })
	for i := len(g.kinds) - 1; i >= 0; i-- {
		if g.kinds[i] == "COMPUTE" {
			g.kinds, g.names, g.value = slices.Delete(g.kinds, i, i+1), slices.Delete(g.names, i, i+1), slices.Delete(g.value, i, i+1)
		}
	}
	for i, arg := range create { // no gaps either
		if f := strings.Split(arg, ":"); f[0] == "DS" {
			create[i] = strings.Join(f[:4], ":") + ":U:U"
		}
	}
	p.both(create, nil)
	alignRings(p.t, filepath.Join(p.dir, "a.rrd"))
	for range 20 + g.r.IntN(20) {
		g.last = max(g.last, p.last()) + g.step
		p.both([]string{"update", "a.rrd", fmt.Sprintf("%d:%s", g.last, strings.Join(p.readings(), ":"))}, nil)
	}
	args := []string{"create", "c.rrd", "-s", strconv.FormatInt(g.step, 10), g.pick("-r", "--source"), "a.rrd"}
	for i, name := range g.names {
		as := name
		if g.one(3) {
			as = fmt.Sprintf("m%d=%s%s", i, name, g.pick("", "[1]"))
		}
		args = append(args, fmt.Sprintf("DS:%s:%s:%d:U:U", as, g.kinds[i], 2*g.step))
	}
	other := g.one(3)
	if other {
		args = append(args, "DS:other:GAUGE:600:U:U")
	}
	cfs := map[string]bool{}
	for range 1 + g.r.IntN(4) {
		cf := g.pick("AVERAGE", "AVERAGE", "MIN", "MAX", "LAST")
		cfs[cf] = true
		args = append(args, fmt.Sprintf("RRA:%s:0.5:%d:%d", cf, 1+g.r.IntN(6), 1+g.r.IntN(15)))
	}
	p.both(args, nil)
	known := func(s string) string { // rows that lie after the first sample
		var out strings.Builder
		prev := int64(0)
		for line := range strings.Lines(s) {
			at, _, _ := strings.Cut(line, ":")
			if end, err := strconv.ParseInt(strings.TrimSpace(at), 10, 64); err == nil {
				if prev > start+g.step {
					out.WriteString(line)
				}
				prev = end
			}
		}
		return out.String()
	}
	fetch := func() {
		for cf := range cfs {
			for _, n := range []int64{1, 2, 3, 4, 5, 6} {
				p.both([]string{"fetch", "c.rrd", cf, "-r", strconv.FormatInt(n*g.step, 10), "-s", strconv.FormatInt(g.last-n*10*g.step, 10), "-e", strconv.FormatInt(g.last, 10)}, known)
			}
		}
	}
	state := func() { // but for the rows that are random
		p.both([]string{"info", "c.rrd"}, func(s string) string { return random.ReplaceAllString(s, "") })
	}
	fetch()
	state()
	for range 20 {
		g.last += 1 + g.r.Int64N(2*g.step)
		values := p.readings()
		if other {
			values = append(values, "7")
		}
		p.both([]string{"update", "c.rrd", fmt.Sprintf("%d:%s", g.last, strings.Join(values, ":"))}, nil)
	}
	fetch()
	state()
	if err := os.RemoveAll(p.dir); err != nil {
		p.t.Error(err)
	}
}

func (p *restructured) readings() []string {
	g := p.g
	out := make([]string, len(g.names))
	for i := range out {
		g.value[i] += 1 + g.r.Int64N(1000)
		out[i] = strconv.FormatInt(g.value[i], 10)
	}
	return out
}
