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

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestPrefillAsOriginal makes series of what several others hold with rrdtool and with Run, and
// updates them. Dumps must be equal, but for what docs/rrdtool-compat.md lists: rows of one second,
// and open rows where archives are so short that a row takes nearly all of theirs.
func TestPrefillAsOriginal(t *testing.T) { seedtest.Each(t, prefillAsOriginal) }

func prefillAsOriginal(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	r := seedtest.Rand(t)
	o := newOriginal(t)
	store := enginetest.Open(t) // which keeps rows of archives of one PDP apart where they differ
	n := seedtest.Programs(30, 10)
	reached := map[string]int{}
	for i := range n {
		g := &generator{r: rand.New(rand.NewPCG(r.Uint64(), 6))}
		me := &rondo{store: store, dir: strconv.Itoa(i), now: time.Now(), loc: berlin}
		p := &prefilled{restructured{t: t, g: g, o: o, me: me}, reached}
		p.dir = filepath.Join(o.dir, strconv.Itoa(i))
		p.run()
	}
	t.Logf("%d programs compared: %v", n, reached)
	if n >= 30 && (reached["twins"] == 0 || reached["holes"] == 0) {
		t.Error("no series had archives with the same rows, or none had holes")
	}
}

// A prefilled is a program of TestPrefillAsOriginal.
type prefilled struct {
	restructured
	reached map[string]int // how often
}

func (p *prefilled) run() {
	if err := os.Mkdir(p.dir, 0o777); err != nil {
		p.t.Fatal(err)
	}
	p.o.pipe([]string{"cd", p.dir})
	r, g := p.g.r, p.g
	begin := 1_000_000_000 + r.Int64N(7200)
	step := []int64{60, 10, 30, 7, 300}[r.IntN(5)]
	sources := []string{"x"}
	if g.one(2) {
		sources = append(sources, "y")
	}
	same := step == 7 || !g.one(4) // all series have one step; of others no second is alone in what two rows have in common
	var spans, lengths []int64
	var ends []int64
	var from []string
	for k := range 1 + r.IntN(3) {
		name := fmt.Sprintf("s%d.rrd", k)
		from = append(from, g.pick("-r", "--source"), name)
		own := step
		if !same {
			own = []int64{60, 10, 100, 30}[r.IntN(4)]
		}
		var args []string
		var made []archiveText
		for range 1 + r.IntN(8) {
			a := p.archive(1+r.Int64N(6), 4+r.Int64N(20))
			if len(made) > 0 && !g.one(3) { // which of several equal ones is asked first shows where they have holes
				a.pdps, a.rows = made[r.IntN(len(made))].pdps, made[r.IntN(len(made))].rows
				p.reached["twins"]++
			}
			made = append(made, a)
			spans, lengths = append(spans, a.pdps*own), append(lengths, a.rows)
			args = append(args, a.text())
		}
		var has []string
		for _, s := range sources {
			if len(has) == 0 || !g.one(6) {
				has = append(has, fmt.Sprintf("DS:%s:%s:%d:U:U", s, g.pick("GAUGE", "GAUGE", "GAUGE", "COUNTER", "ABSOLUTE"), own*(2+r.Int64N(3))))
			}
		}
		at := begin - r.Int64N(40*own)
		p.both(append(append([]string{"create", name, "-b", number(at), "-s", number(own)}, has...), args...), nil)
		ends = append(ends, p.update(name, at, own, len(has)))
		if g.one(2) {
			p.makeHoles(name)
		}
	}
	start := ends[r.IntN(len(ends))]
	switch r.IntN(3) {
	case 0:
		start += r.Int64N(2*step) - step
	case 1:
		start += r.Int64N(10*step) - 5*step
	}
	args := append([]string{"create", "c.rrd", "-s", number(step)}, from...)
	if !g.one(4) {
		args = append(args, "-b", number(start))
	}
	if g.one(4) {
		sources = append(sources, "other")
	}
	for i, s := range sources {
		if g.one(4) {
			s = fmt.Sprintf("m%d=%s%s", i, sources[r.IntN(len(sources))], g.pick("", "[1]", "[2]", "[0]"))
		}
		args = append(args, fmt.Sprintf("DS:%s:%s:%d:U:U", s, g.pick("GAUGE", "GAUGE", "GAUGE", "COUNTER"), 2*step))
	}
	for range 1 + r.IntN(5) {
		n := 1 + r.Int64N(6)
		for i := range spans {
			for n > 1 && lengths[i] < n*step/spans[i]+3 {
				n--
			}
		}
		args = append(args, p.archive(n, 1+r.Int64N(20)+3*(1/n)).text())
	}
	p.both(args, nil)
	p.both([]string{"dump", "c.rrd"}, func(dump string) string { return shown(dump, same) })
	if same { // otherwise what is gathered of the open PDP differs, and what follows
		p.update("c.rrd", p.lastOf("c.rrd"), step, len(sources))
		p.both([]string{"dump", "c.rrd"}, func(dump string) string { return shown(dump, same) })
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.t.Error(err)
	}
}

// makeHoles gives the archives of a series values of their own, and makes some unknown.
func (p *prefilled) makeHoles(name string) {
	p.reached["holes"]++
	r := p.g.r
	dump := p.o.pipe([]string{"dump", name}).Stdout
	dump = storedValue.ReplaceAllStringFunc(dump, func(v string) string {
		switch r.IntN(4) {
		case 0:
			return v
		case 1:
			return "<v>" + number(1+r.Int64N(1000)) + "</v>"
		}
		return "<v>NaN</v>"
	})
	if err := os.WriteFile(filepath.Join(p.dir, "holes.xml"), []byte(dump), 0o666); err != nil {
		p.t.Fatal(err)
	}
	args := []string{"restore", "-f", "holes.xml", name}
	fmt.Fprintf(&p.shown, "rrdtool %s\n%s", quoted(args), dump)
	me := &filing{*p.me, p.dir}
	if want, got := p.o.run(p.dir, args), me.run(args); want != got {
		p.t.Fatalf("%s\nrrdtool %+v\nrondo %+v", p.shown.String(), want, got)
	}
}

type archiveText struct {
	cf, xff    string
	pdps, rows int64
}

func (a archiveText) text() string {
	return fmt.Sprintf("RRA:%s:%s:%d:%d", a.cf, a.xff, a.pdps, a.rows)
}

func (p *prefilled) archive(pdps, rows int64) archiveText {
	g := p.g
	return archiveText{g.pick("AVERAGE", "AVERAGE", "MIN", "MAX", "LAST"), g.pick("0.5", "0.5", "0", "0.9", "0.25"), pdps, rows}
}

// update stores some samples, and returns the time of the last.
func (p *prefilled) update(name string, at, step int64, sources int) int64 {
	r := p.g.r
	args := []string{"update", name}
	for range 1 + r.IntN(40) {
		switch r.IntN(9) {
		case 0:
			at += 1 + r.Int64N(2*step)
		case 1:
			at += step - at%step
		case 2:
			at += 3 * step
		default:
			at += step
		}
		readings := make([]string, sources)
		for i := range readings {
			if readings[i] = number(1 + r.Int64N(1000)); p.g.one(8) {
				readings[i] = "U"
			}
		}
		args = append(args, number(at)+":"+strings.Join(readings, ":"))
	}
	p.both(args, nil)
	return at
}

func (p *prefilled) lastOf(name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(p.me.run([]string{"last", name}).Stdout), 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func number(v int64) string { return strconv.FormatInt(v, 10) }

var (
	storedValue = regexp.MustCompile(`<v>[^<]*</v>`)
	openPDP     = regexp.MustCompile(`(?s)<last_ds>.*?</unknown_sec>`)
	openRows    = regexp.MustCompile(`(?s)<cdp_prep>.*?</cdp_prep>`)
	primaries   = regexp.MustCompile(`<(primary|secondary)_value>[^<]*`)
)

// shown returns what of a dump must be equal: archives of one PDP a row have one primary and
// secondary value between them in rondo, the first one's. If not open, what is gathered of the open
// step and of open rows is left out.
func shown(dump string, open bool) string {
	if !open {
		dump = openRows.ReplaceAllString(openPDP.ReplaceAllString(dump, ""), "")
	}
	archives := strings.Split(dump, "<rra>")
	first := true
	for i, a := range archives {
		if !strings.Contains(a, "<pdp_per_row>1<") {
			continue
		}
		if !first {
			archives[i] = primaries.ReplaceAllString(a, "")
		}
		first = false
	}
	return strings.Join(archives, "<rra>")
}
