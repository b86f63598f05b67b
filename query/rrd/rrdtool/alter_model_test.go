package rrdtool_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// An alterRun alters a series at random, and looks at each row of it second by second.
type alterRun struct {
	*testing.T
	r     *rand.Rand
	run   *rondo
	at    int64 // last update
	step  int64
	names []string
	made  int // data sources
	shown strings.Builder
}

// TestAlterRows: whatever is altered, rows that an archive has stay, and a new archive's are what
// is known of their seconds.
func TestAlterRows(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := seedtest.Rand(t)
			s := open(t)
			for i := range seedtest.Programs(12, 10) {
				a := &alterRun{T: t, r: rand.New(rand.NewPCG(r.Uint64(), 5)), at: 1_200_000_000 + int64(r.IntN(10000))}
				a.run = &rondo{store: s, dir: fmt.Sprintf("m%d", i), now: time.Unix(1_200_200_000, 0), loc: time.UTC}
				a.begin()
				for range 5 {
					a.grow()
					a.alter()
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

func (a *alterRun) do(args ...string) string {
	a.Helper()
	fmt.Fprintf(&a.shown, "%s\n", quoted(args))
	got := a.run.run(args)
	if got.Exit != 0 {
		a.Fatalf("%s%s", a.shown.String(), got.Stderr)
	}
	return got.Stdout
}

func (a *alterRun) archive() string {
	cf := []string{"AVERAGE", "AVERAGE", "MIN", "MAX", "LAST"}[a.r.IntN(5)]
	return fmt.Sprintf("RRA:%s:0.%d:%d:%d", cf, a.r.IntN(10), []int{1, 1, 2, 3, 6, 12}[a.r.IntN(6)], 1+a.r.IntN(40))
}

func (a *alterRun) begin() {
	a.step = int64([]int{2, 5, 10, 12}[a.r.IntN(4)])
	args := []string{"create", "a.rrd", "-b", fmt.Sprint(a.at), "-s", fmt.Sprint(a.step), "DS:x:GAUGE:30:U:U"}
	a.names = []string{"x"}
	if a.r.IntN(2) == 0 {
		args = append(args, "DS:y:GAUGE:15:U:U")
		a.names = append(a.names, "y")
	}
	for range 1 + a.r.IntN(4) {
		args = append(args, a.archive())
	}
	a.do(args...)
}

// grow stores some readings.
func (a *alterRun) grow() {
	args := []string{"update", "a.rrd"}
	for range 1 + a.r.IntN(40) {
		a.at += []int64{1, 3, a.step, a.step, 10, 10, 47}[a.r.IntN(7)]
		text := []string{fmt.Sprint(a.at)}
		for range a.names {
			v := fmt.Sprint(a.r.IntN(1000))
			if a.r.IntN(9) == 0 {
				v = "U"
			}
			text = append(text, v)
		}
		args = append(args, strings.Join(text, ":"))
	}
	a.do(args...)
}

// export returns the series. Rows that are left out are there, as unknown.
func (a *alterRun) export() core.Copy {
	a.Helper()
	ref, err := a.run.store.Lookup(a.run.dir + "/a.rrd")
	if err != nil {
		a.Fatal(err)
	}
	c, err := a.run.store.Export(a.Context(), ref)
	if err != nil {
		a.Fatal(err)
	}
	for i := range c.Rows {
		c.Rows[i] = slices.Clone(c.Rows[i])
		for len(c.Rows[i]) < int(c.Definition.Archives[i].Rows)*len(c.Definition.Sources) {
			c.Rows[i] = append([]float64{math.NaN()}, c.Rows[i]...)
		}
	}
	return c
}

// alter makes a change, and compares.
func (a *alterRun) alter() {
	before := a.export()
	d := before.Definition
	renamed := make(map[string]string) // new to old
	args := []string{"alter", "a.rrd", "-o", "none"}
	if a.r.IntN(3) == 0 {
		step := []int64{1, 2, 3, 5, 6, 10, 12, 15}[a.r.IntN(8)]
		if !slices.ContainsFunc(d.Archives, func(x rra.Archive) bool { return x.PDPs*d.Step%step != 0 }) {
			args, a.step = append(args, "--step", fmt.Sprint(step)), step
		}
	}
	switch a.r.IntN(4) {
	case 0:
		args = append(args, "--add-rra", a.archive())
	case 1:
		if len(d.Archives) > 1 {
			args = append(args, "--drop-rra", fmt.Sprint(a.r.IntN(len(d.Archives))))
		}
		args = append(args, "--add-rra", a.archive())
	case 2:
		for i := range d.Archives {
			x := d.Archives[i]
			args = append(args, "--rra", fmt.Sprintf("RRA:%s:%g:%ds:%d", x.CF, x.XFF, x.PDPs*d.Step, max(1, x.Rows+int64(a.r.IntN(20)-10))))
		}
	}
	switch a.r.IntN(5) {
	case 0:
		name := fmt.Sprintf("n%d", a.r.IntN(1000))
		i := a.r.IntN(len(a.names))
		if !slices.Contains(a.names, name) {
			args = append(args, "--rename", a.names[i]+":"+name)
			renamed[name], a.names[i] = a.names[i], name
		}
	case 1:
		if len(a.names) < 3 {
			a.made++
			name := fmt.Sprintf("d%d", a.made)
			args = append(args, "--ds", "DS:"+name+":GAUGE:20:U:U")
			a.names, renamed[name] = append(a.names, name), ""
		}
	case 2:
		if len(a.names) > 1 {
			args = append(args, "--drop-ds", a.names[len(a.names)-1])
			a.names = a.names[:len(a.names)-1]
		}
	}
	a.do(args...)
	a.compare(&before, renamed)
}

// compare looks at every row of the series.
func (a *alterRun) compare(before *core.Copy, renamed map[string]string) {
	after := a.export()
	d := after.Definition
	if d.Step != a.step || len(d.Sources) != len(a.names) {
		a.Errorf("%sstep %d, %d data sources", a.shown.String(), d.Step, len(d.Sources))
		return
	}
	for i := range d.Archives {
		x := &d.Archives[i]
		span := x.PDPs * d.Step
		newest := a.at - a.at%span
		for ds := range d.Sources {
			name := d.Sources[ds].Name
			if old, ok := renamed[name]; ok {
				name = old
			}
			from := a.history(before, name, x.CF, span)
			for k := range x.Rows {
				end := newest - (x.Rows-1-k)*span
				got := after.Rows[i][int(k)*len(d.Sources)+ds]
				if want, ok := from.row(x, end-span, end); !ok(got) {
					a.Errorf("%s%s, row that ends at %d of %s: %v, want %v", a.shown.String(), x, end, d.Sources[ds].Name, got, want)
					return
				}
			}
		}
	}
}

// A history is the archives that know something of a data source, best first.
type history []known

// A known is a column of an archive.
type known struct {
	cf     rra.CF
	span   int64
	oldest int64 // when it begins
	values []float64
	exact  bool // a row of it is a row of a longer one, too
}

// history returns what is known of a data source for an archive of a CF and rows of span seconds.
func (a *alterRun) history(c *core.Copy, name string, cf rra.CF, span int64) history {
	d := c.Definition
	ds := slices.IndexFunc(d.Sources, func(s rra.DataSource) bool { return s.Name == name })
	if ds < 0 {
		return nil
	}
	var h history
	m, err := rra.Compile(d)
	if err != nil {
		a.Fatal(err)
	}
	if open := a.at % d.Step; open > 0 {
		if s := m.Snapshot(&c.State).Sources[ds]; s.UnknownSec == 0 {
			h = append(h, known{rra.Average, open, a.at - open, []float64{s.Value / float64(open)}, open <= span})
		}
	}
	for i := range d.Archives {
		x := &d.Archives[i]
		if x.CF != cf && x.CF != rra.Average {
			continue
		}
		k := known{cf: x.CF, span: x.PDPs * d.Step}
		k.exact = k.span <= span && (x.CF == cf || x.PDPs == 1)
		k.oldest = a.at - a.at%k.span - x.Rows*k.span
		for j := ds; j < len(c.Rows[i]); j += len(d.Sources) {
			k.values = append(k.values, c.Rows[i][j])
		}
		h = append(h, k)
	}
	rank := func(k known) int {
		if k.exact {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(h, func(x, y known) int {
		return cmp.Or(rank(x)-rank(y), cmp.Compare(x.span, y.span), cmp.Compare(min(x.cf, 1), min(y.cf, 1)), len(y.values)-len(x.values))
	})
	return h
}

// row says which values a row from start to end may have, and shows one.
func (h history) row(x *rra.Archive, start, end int64) (any, func(float64) bool) {
	is := func(v float64) func(float64) bool {
		return func(got float64) bool { return got == v || got != got && v != v || math.Abs(got-v) <= 1e-9*math.Abs(v) }
	}
	var kept []func(float64) bool
	var shown []float64
	for _, k := range h {
		if k.cf == x.CF && k.span == end-start && start >= k.oldest && end <= k.oldest+int64(len(k.values))*k.span {
			v := k.values[(start-k.oldest)/k.span]
			kept, shown = append(kept, is(v)), append(shown, v)
		}
	}
	if len(kept) > 0 {
		return shown, func(got float64) bool {
			return slices.ContainsFunc(kept, func(ok func(float64) bool) bool { return ok(got) })
		}
	}
	sum, least, most, last, seconds := 0.0, math.Inf(1), math.Inf(-1), math.NaN(), 0
	lastFrom := int64(-1)
	for t := start; t < end; t++ {
		for _, k := range h {
			i := (t - k.oldest) / k.span
			if t < k.oldest || i >= int64(len(k.values)) || k.values[i] != k.values[i] {
				continue
			}
			v := k.values[i]
			sum, least, most, seconds = sum+v, min(least, v), max(most, v), seconds+1
			if from := k.oldest + i*k.span; from >= lastFrom {
				last, lastFrom = v, from
			}
			break
		}
	}
	v := math.NaN()
	if float64(seconds) > x.XFF*float64(end-start) {
		v = map[rra.CF]float64{rra.Average: sum / float64(seconds), rra.Min: least, rra.Max: most, rra.Last: last}[x.CF]
	}
	return v, is(v)
}
