package rra

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// An rrdtool is a running `rrdtool -`.
type rrdtool struct {
	dir  string
	pipe *rrdtooltest.Pipe
}

func startRRDtool(tb testing.TB) *rrdtool {
	tb.Helper()
	path := rrdtooltest.RRDtool(tb)
	dir := tb.TempDir()
	return &rrdtool{dir: dir, pipe: rrdtooltest.StartPipe(tb, path, dir, nil)}
}

// do runs one command and returns rrdtool's error, "" if there is none.
func (t *rrdtool) do(words ...string) string {
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	if _, err := t.pipe.Ask(strings.Join(words, " ")); err != nil {
		return err.Error()
	}
	return ""
}

// TestInterop runs random programs through rrdtool and through Machine, and
// compares all that is stored, bit for bit.
func TestInterop(t *testing.T) {
	programs := seedtest.Programs(200, 1)
	r := seedtest.Rand(t)
	tool := startRRDtool(t)
	bad := 0
	for i := range programs {
		name := fmt.Sprintf("p%d.rrd", i)
		trial := newTrial(rand.New(rand.NewPCG(r.Uint64(), 0)), i%3 == 2)
		if !compare(t, tool, trial, name) {
			if bad++; bad == 5 {
				t.Fatalf("stopped after %d mismatches in %d programs", bad, i+1)
			}
		}
		_ = os.Remove(filepath.Join(tool.dir, name))
	}
	t.Logf("%d programs compared", programs)
}

// compare runs one trial through both.
func compare(t *testing.T, tool *rrdtool, p *trial, name string) bool {
	t.Helper()
	m, err := Compile(p.def)
	if err != nil {
		t.Errorf("compile %v: %v", p.args, err)
		return false
	}
	create := append([]string{"create", name, "-b", strconv.FormatInt(p.start, 10), "-s", strconv.FormatInt(p.def.Step, 10)}, p.args...)
	if msg := tool.do(create...); msg != "" {
		t.Errorf("%v: %s", p.args, msg)
		return false
	}
	path := filepath.Join(tool.dir, name)
	zeroCurRows(t, path)
	c := newCollector(m, Seconds(p.start), name)
	if diff := c.difference(readRRD(t, path)); diff != "" {
		t.Errorf("%v -b %d: new: %s", p.args, p.start, diff)
		return false
	}
	everyStep := os.Getenv("RONDO_EVERY") != ""
	for i, command := range p.commands {
		words := []string{"update", name}
		for _, u := range command {
			words = append(words, u.String())
		}
		msg := tool.do(words...)
		err := c.command(command)
		if (msg != "") != (err != nil) || c.err != nil {
			t.Errorf("%v -b %d: command %d %v: rrdtool says %q, rra %v; %v", p.args, p.start, i, command, msg, err, c.err)
			return false
		}
		var value *ValueError
		if errors.As(err, &value) && msg != name+": "+value.Err.Error() {
			t.Errorf("%v: command %d %v: rrdtool says %q, rra %q", p.args, i, command, msg, value.Err.Error())
			return false
		}
		if everyStep || i == len(p.commands)-1 {
			if diff := c.difference(readRRD(t, path)); diff != "" {
				if everyStep {
					t.Errorf("%v -b %d\n%v\nafter command %d: %s", p.args, p.start, p.commands[max(0, i-2):i+1], i, diff)
				} else {
					t.Errorf("%v -b %d: after command %d: %s", p.args, p.start, i, diff)
				}
				return false
			}
		}
	}
	return true
}

// command applies one update command as rrdtool does: the first error ends it.
func (c *collector) command(command []update) error {
	for _, u := range command {
		at, values, texts := u.reading(c.m.def)
		runs, err := c.m.Step(&c.s, at, values, texts, nil)
		if err != nil {
			c.m.AbortUpdate(&c.s)
			return err
		}
		c.add(runs)
	}
	c.m.EndUpdate(&c.s)
	return nil
}

// difference says where c and a file of rrdtool differ, "" if nowhere.
func (c *collector) difference(f *rrdFile) string {
	if got := c.m.LastUpdate(c.s.W); got != f.lastUpdate {
		return fmt.Sprintf("last update %d, rrdtool %d", got, f.lastUpdate)
	}
	for d := range c.m.def.Sources {
		if got := c.m.LastReading(&c.s, d); got != f.lastDS[d] {
			return fmt.Sprintf("ds %d: last reading %q, rrdtool %q", d, got, f.lastDS[d])
		}
		value, unknown := c.m.PDP(&c.s, d)
		if !sameFloat(value, f.value[d]) || unknown != f.unknown[d] {
			return fmt.Sprintf("ds %d: pdp %v, %d unknown; rrdtool %v, %d", d, value, unknown, f.value[d], f.unknown[d])
		}
	}
	for a := range c.m.def.Archives {
		if diff := c.archiveDifference(f, a); diff != "" {
			return fmt.Sprintf("archive %d: %s", a, diff)
		}
	}
	return ""
}

func (c *collector) archiveDifference(f *rrdFile, a int) string {
	archive := &c.m.def.Archives[a]
	if got := c.m.CurRow(&c.s, a); got != f.cur[a] {
		return fmt.Sprintf("current row %d, rrdtool %d", got, f.cur[a])
	}
	for d := range c.m.def.Sources {
		if diff := c.m.CDP(&c.s, a, d).difference(archive, f.cdp[a][d]); diff != "" {
			return fmt.Sprintf("ds %d: %s", d, diff)
		}
		for i := range int(archive.Rows) {
			if got, want := c.row(a, i, d), f.row(a, i, d); !sameFloat(got, want) {
				return fmt.Sprintf("ds %d: row %d of %d: %v, rrdtool %v", d, i, archive.Rows, got, want)
			}
		}
	}
	return ""
}

// difference compares c with the ten words that rrdtool keeps.
func (c CDP) difference(a *Archive, w [10]uint64) string {
	f := func(i int) float64 { return math.Float64frombits(w[i]) }
	type check struct {
		name string
		got  any
		want any
	}
	checks := []check{{"primary", c.Primary, f(8)}, {"secondary", c.Secondary, f(9)}}
	switch a.CF {
	case HWPredict, MHWPredict:
		checks = append(checks, check{"intercept", c.Intercept, f(2)}, check{"last intercept", c.LastIntercept, f(3)},
			check{"slope", c.Slope, f(4)}, check{"last slope", c.LastSlope, f(5)},
			check{"null count", c.NullCount, int64(w[6])}, check{"last null count", c.LastNullCount, int64(w[7])})
	case Seasonal, DevSeasonal:
		checks = append(checks, check{"seasonal", c.Seasonal, f(2)}, check{"last seasonal", c.LastSeasonal, f(3)},
			check{"init flag", c.InitFlag, int64(w[6])})
	case DevPredict:
		checks = append(checks, check{"value", c.Value, f(0)})
	case Failures:
		history := make([]byte, a.Window)
		for i := range history {
			history[i] = '0' + byte(w[i/8]>>(8*(i%8)))
		}
		checks = append(checks, check{"history", c.History, string(history)})
	default:
		checks = append(checks, check{"value", c.Value, f(0)}, check{"unknown", c.Unknown, int64(w[1])})
	}
	for _, k := range checks {
		got, ok := k.got.(float64)
		if ok && sameFloat(got, k.want.(float64)) || !ok && k.got == k.want {
			continue
		}
		return fmt.Sprintf("%s %v, rrdtool %v", k.name, k.got, k.want)
	}
	return ""
}
