package rrdtool_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// TestRestructureAsOriginal adds and removes data sources, archives and rows with rrdtool and with
// Run.
func TestRestructureAsOriginal(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := seedtest.Rand(t)
			o := newOriginal(t)
			s := open(t)
			n := seedtest.Programs(10, 10)
			for i := range n {
				g := &generator{r: rand.New(rand.NewPCG(r.Uint64(), 5))}
				p := &restructured{t: t, g: g, o: o, me: &rondo{store: s, dir: strconv.Itoa(i), now: time.Now(), loc: time.UTC}}
				p.dir = filepath.Join(o.dir, strconv.Itoa(i))
				p.run()
				if t.Failed() {
					return
				}
			}
			t.Logf("%d programs compared", n)
		})
	}
}

// A restructured is a program of TestRestructureAsOriginal.
type restructured struct {
	t     *testing.T
	g     *generator
	o     *original
	me    *rondo
	dir   string
	shown strings.Builder
}

func (p *restructured) run() {
	if err := os.Mkdir(p.dir, 0o777); err != nil {
		p.t.Fatal(err)
	}
	p.o.pipe([]string{"cd", p.dir})
	g := p.g
	create := g.create("a.rrd")
	p.both(create, nil)
	alignRings(p.t, filepath.Join(p.dir, "a.rrd"))
	before, err := rra.ParseDefinition(g.step, create[5:])
	if err != nil {
		before, err = rra.ParseDefinition(g.step, create[4:])
	}
	if err != nil {
		p.t.Fatal(err)
	}
	for range 5 + g.r.IntN(20) {
		p.both(g.update("update"), nil)
	}
	change, added := p.change(before)
	at := p.last()
	if !p.both(change, nil) {
		return
	}
	// rrdtool takes the row before the oldest, and that behind the newest, for ones that are there:
	// they are the newest and the oldest.
	garbage := func(start, end int64) bool {
		for i := range before.Archives {
			span := before.Archives[i].PDPs * before.Step
			newest := at - at%span
			oldest := newest - before.Archives[i].Rows*span
			if before.Archives[i].CF <= rra.Last && (end > newest || end > oldest-span && start-start%span <= oldest) {
				return true
			}
		}
		return false
	}
	p.compareRows(added, func(start, end int64) bool { return !garbage(start, end) })
	for range 25 {
		g.last = p.last() + g.step
		p.both([]string{"update", "a.rrd", g.sample(p.takes())}, nil)
	}
	p.compareRows(added, func(start, end int64) bool { return start > at })
	version := regexp.MustCompile(`rrd_version = .*\n|rra.*smoothing_window = .*\n`) // stays what it was
	one := regexp.MustCompile(`rra\[(\d+)\]\.cdp_prep.*`)                            // of new archives with one PDP a row, which have no use for it
	p.both([]string{"info", "a.rrd"}, func(s string) string {
		return one.ReplaceAllStringFunc(version.ReplaceAllString(s, ""), func(line string) string {
			i, _ := strconv.Atoi(one.FindStringSubmatch(line)[1])
			if i >= len(before.Archives)-p.dropped(change) {
				return ""
			}
			return line
		})
	})
	if err := os.RemoveAll(p.dir); err != nil {
		p.t.Error(err)
	}
}

func (p *restructured) dropped(change []string) int {
	return strings.Count(strings.Join(change, " "), "DELRRA")
}

// change is a tune command, and the CFs and PDPs a row of all archives that may be fetched after
// it.
func (p *restructured) change(before *rra.Definition) ([]string, []rra.Archive) {
	g := p.g
	args := []string{"tune", "a.rrd"}
	archives := append([]rra.Archive(nil), before.Archives...)
	if n := len(g.names); g.one(3) && n > 1 && !strings.Contains(strings.Join(g.kinds, " "), "COMPUTE") {
		i := g.r.IntN(n)
		args = append(args, "DEL:"+g.names[i])
		for _, s := range []*[]string{&g.names, &g.kinds} {
			*s = append((*s)[:i:i], (*s)[i+1:]...)
		}
		g.value = append(g.value[:i:i], g.value[i+1:]...)
	}
	if g.one(3) {
		args = append(args, fmt.Sprintf("DS:new:GAUGE:%d:U:U", 2*g.step))
		g.names, g.kinds, g.value = append(g.names, "new"), append(g.kinds, "GAUGE"), append(g.value, 0)
	}
	if last := len(archives) - 1; g.one(4) && last > 0 && archives[last].CF <= rra.Last { // rrdtool mixes up the rings behind one that goes
		args = append(args, fmt.Sprintf("DELRRA:%d", last))
		archives = archives[:last]
	}
	if g.one(2) {
		i := g.r.IntN(len(archives))
		if archives[i].CF <= rra.Last && archives[i].Rows > 2 {
			args = append(args, fmt.Sprintf("RRA#%d:%s%d", i, g.pick("+", "-", "="), 1+g.r.IntN(int(archives[i].Rows)-1)))
		}
	}
	for range g.r.IntN(3) {
		a := rra.Archive{CF: []rra.CF{rra.Average, rra.Max, rra.Last, rra.Min}[g.r.IntN(4)], XFF: 0.5, PDPs: int64(1 + g.r.IntN(8)), Rows: int64(1 + g.r.IntN(20))}
		args = append(args, a.String())
		archives = append(archives, a)
	}
	if len(args) == 2 {
		args = append(args, "DEL:nosuch")
	}
	return args, archives
}

func (p *restructured) takes() []int {
	var takes []int
	for i, k := range p.g.kinds {
		if k != "COMPUTE" {
			takes = append(takes, i)
		}
	}
	return takes
}

func (p *restructured) last() int64 {
	a := p.me.run([]string{"last", "a.rrd"})
	n, err := strconv.ParseInt(strings.TrimSpace(a.Stdout), 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// compareRows fetches archives, and compares those rows that are to be.
func (p *restructured) compareRows(archives []rra.Archive, same func(start, end int64) bool) {
	now := p.last()
	for i := range archives {
		a := &archives[i]
		span := a.PDPs * p.g.step
		args := []string{
			"fetch", "a.rrd", a.CF.String(), "-r", strconv.FormatInt(span, 10),
			"-s", strconv.FormatInt(now-now%span-20*span, 10), "-e", strconv.FormatInt(now, 10),
		}
		p.both(args, func(s string) string {
			var out strings.Builder
			var ends []int64
			var rows []string
			for line := range strings.Lines(s) {
				at, _, _ := strings.Cut(line, ":")
				if end, err := strconv.ParseInt(strings.TrimSpace(at), 10, 64); err == nil {
					ends, rows = append(ends, end), append(rows, line)
				}
			}
			for i := 1; i < len(rows); i++ {
				if same(ends[i-1], ends[i]) {
					out.WriteString(rows[i])
				}
			}
			return out.String()
		})
	}
}

// both runs a command through both, and compares what filter leaves of stdout. It reports whether
// it succeeded.
func (p *restructured) both(args []string, filter func(string) string) bool {
	fmt.Fprintf(&p.shown, "rrdtool %s\n", quoted(args))
	want, got := comparable(p.o.pipe(args)), comparable(p.me.run(args))
	if filter != nil {
		want.Stdout, got.Stdout = filter(want.Stdout), filter(got.Stdout)
	}
	if d := cmp.Diff(want, got); d != "" {
		p.t.Fatalf("(-rrdtool +rondo):\n%s%s", p.shown.String(), d)
	}
	return want.Exit == 0
}
