package contrib_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// debianPython is the interpreter that Debian's modules are for.
const debianPython = "/usr/bin/python3"

// TestPerlAsBinding makes the same calls at random to RRDs.pm and to librrd's own, and compares
// what comes back to the last bit.
func TestPerlAsBinding(t *testing.T) {
	rrdtooltest.Need(t, "perl")
	if exec.Command("perl", "-MRRDs", "-e", "1").Run() != nil {
		rrdtooltest.Lacks(t, "there is no ", "RRDs of librrds-perl")
	}
	t.Parallel()
	driver := absolute(t, "testdata/drive.pl")
	dir := t.TempDir()
	original := drive(t, "librrd", t.TempDir(), bare(), "perl", driver)
	shim := drive(t, "rondo", dir, environment(t, dir), "perl", driver)
	compareCalls(t, original, shim, func(c *caller) [][]string {
		return [][]string{{"times", c.oneOf("end-1h", "1000000000", "12:00 01.02.2020", "bogus"), c.oneOf("920804400", "start+1d", "8am 03/07/2021", "x")}}
	}, sameInPerl)
}

// TestPythonAsBinding does that for Python.
func TestPythonAsBinding(t *testing.T) {
	rrdtooltest.Need(t, debianPython)
	if exec.Command(debianPython, "-c", "import rrdtool").Run() != nil {
		rrdtooltest.Lacks(t, "there is no ", "rrdtool of python3-rrdtool")
	}
	t.Parallel()
	driver := absolute(t, "testdata/drive.py")
	dir := t.TempDir()
	original := drive(t, "librrd", t.TempDir(), bare(), debianPython, driver, "fork")
	shim := drive(t, "rondo", dir, environment(t, dir), debianPython, driver)
	compareCalls(t, original, shim, func(c *caller) [][]string {
		return [][]string{{"lastupdate", c.name}, {"lastupdate", "none"}, {"lastupdate"}, {"resize", c.name, "0", "GROW", "5"}}
	}, sameInPython)
}

// compareCalls runs random programs through both.
func compareCalls(t *testing.T, original, shim *driver, more func(*caller) [][]string, same func(call []string, want, got result) string) {
	t.Helper()
	r := seedtest.Rand(t)
	calls := 0
	n := seedtest.Programs(3, 20)
	for i := range n {
		c := &caller{Rand: rand.New(rand.NewPCG(r.Uint64(), 6)), number: i}
		for _, call := range c.program(more) {
			calls++
			want, got := pictured(call, original.call(call)), pictured(call, shim.call(call))
			if d := same(call, want, got); d != "" {
				t.Fatalf("program %d: %q (-librrd +rondo):\n%s", i, call, d)
			}
		}
	}
	t.Logf("%d programs, %d calls compared", n, calls)
}

// sameInPerl returns how two results differ.
func sameInPerl(_ []string, want, got result) string {
	dropRows(want.Got)
	dropRows(got.Got)
	return cmp.Diff(want, got)
}

// dropRows takes out what is random in rrdtool: the row at which a ring begins.
func dropRows(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			dropRows(e)
		}
	case map[string]any:
		for key := range v {
			if strings.HasSuffix(key, ".cur_row") {
				delete(v, key)
			}
		}
	}
}

// sameInPython is sameInPerl, but for what Debian's module is wrong about: it leaves most doubles
// out of what it makes a dict of, does not report errors of updatev, and crashes on errors of
// fetch.
func sameInPython(call []string, want, got result) string {
	has, _ := want.Got.(map[string]any)
	switch {
	case want.Error == "crash" && got.Error != "":
		return ""
	case call[0] == "updatev" && got.Error != "":
		return cmp.Diff(-1.0, has["return_value"])
	}
	mine, _ := got.Got.(map[string]any)
	for key, v := range mine {
		if _, ok := has[key]; !ok && (call[0] == "info" || call[0] == "updatev" || call[0] == "graphv") {
			if _, double := v.(string); !double && v != nil {
				return fmt.Sprintf("%s is no double: %v", key, v)
			}
			delete(mine, key)
		} else if has[key] == nil && call[0] == "updatev" { // one row that is unknown, and another of the same name
			mine[key] = nil
		}
	}
	return sameInPerl(call, want, got)
}

// A caller makes programs.
type caller struct {
	*rand.Rand
	number  int
	name    string
	at      int64 // of the last update
	sources int
}

func (c *caller) oneOf(words ...string) string { return words[c.IntN(len(words))] }

// program makes calls about one series.
func (c *caller) program(more func(*caller) [][]string) [][]string {
	c.name = fmt.Sprintf(c.oneOf("p%d.rrd", "p %d.rrd", `p"%d'.rrd`, "p\\%d.rrd", "p$%d.rrd", "é%d.rrd"), c.number)
	c.at = 1_000_000_000
	create := []string{"create", c.name, "--start", strconv.FormatInt(c.at, 10), "--step", "10"}
	c.sources = 1 + c.IntN(3)
	for i := range c.sources {
		create = append(create, fmt.Sprintf("DS:d%d:%s:%d:%s:%s", i, c.oneOf("GAUGE", "COUNTER", "DERIVE", "ABSOLUTE"), 15+c.IntN(30), c.oneOf("U", "0", "-5"), c.oneOf("U", "1e9", "1000")))
	}
	create = append(create, "RRA:AVERAGE:0.5:1:20", "RRA:AVERAGE:0.5:3:10", "RRA:"+c.oneOf("MIN", "MAX", "LAST")+":0.9:2:15")
	if c.IntN(4) == 0 {
		create = append(create, "RRA:HWPREDICT:50:0.1:0.0035:5")
	}
	calls := [][]string{create}
	for range 20 {
		calls = append(calls, c.update(c.oneOf("update", "update", "updatev")))
	}
	for range 4 {
		calls = append(calls, c.fetch(), c.update("update"), c.xport())
	}
	for range 8 {
		calls = append(calls, c.graph())
	}
	calls = append(calls, []string{"info", c.name}, []string{"first", c.name}, []string{"first", c.name, "--rraindex", c.oneOf("1", "2", "9")}, []string{"last", c.name},
		[]string{"tune", c.name, "-h", c.oneOf("d0:99", "none:9", "d0")}, []string{"info", c.name}, []string{"dump", c.name, "out.xml"}, c.mistake(), c.mistake())
	return append(calls, more(c)...)
}

func (c *caller) update(verb string) []string {
	call := []string{verb, c.name}
	for range 1 + c.IntN(3) {
		c.at += int64(c.IntN(12)) // sometimes late
		time := strconv.FormatInt(c.at, 10)
		if c.IntN(5) == 0 {
			c.at++
			time += fmt.Sprintf(".%d", c.IntN(1000))
		}
		sample := []string{time}
		for range c.sources {
			number := strconv.FormatFloat(c.Float64()*math.Pow(10, float64(c.IntN(20)-8)), 'g', -1, 64)
			sample = append(sample, c.oneOf("U", strconv.Itoa(c.IntN(1e6)), strconv.Itoa(int(c.at)), number))
		}
		call = append(call, strings.Join(sample, ":"))
	}
	return call
}

func (c *caller) fetch() []string {
	from := c.at - int64(c.IntN(300))
	call := []string{"fetch", c.name, c.oneOf("AVERAGE", "AVERAGE", "MAX", "MIN", "BOGUS"), "--start", strconv.FormatInt(from, 10)}
	return append(call, "-e", strconv.FormatInt(from+int64(c.IntN(300)), 10), "-r", c.oneOf("1", "30", "20"))
}

func (c *caller) xport() []string {
	file := strings.ReplaceAll(strings.ReplaceAll(c.name, `\`, `\\`), ":", `\:`)
	from := c.at - int64(c.IntN(300))
	return []string{
		"xport", "-s", strconv.FormatInt(from, 10), "-e", strconv.FormatInt(from+10+int64(c.IntN(300)), 10), "DEF:a=" + file + ":d0:AVERAGE",
		"CDEF:b=a," + c.oneOf("3,/", "0.1,*", "DUP,+", "UN"), "XPORT:a:" + c.oneOf("one", "t'w\"o", "<three> & four"), c.oneOf("XPORT:b", "XPORT:none"),
	}
}

func (c *caller) mistake() []string {
	mistakes := [][]string{
		{"update", c.name, "1:1"},
		{"update", c.name, "x:y"},
		{"update", c.name},
		{"update", c.name, "--bogus", "1:1"},
		{"update"},
		{"update", "none", "N:1"},
		{"create", c.name},
		{"create"},
		{"create", c.name, "DS:x:GAUGE:1"},
		{"info", "none"},
		{"last", "none"},
		{"first", "none"},
		{"fetch", "none", "AVERAGE"},
		{"tune", "none", "-h", "x:1"},
		{"xport"},
		{"xport", "DEF:a=none:x:AVERAGE", "XPORT:a"},
		{"xport", "bogus"},
		{"dump", "none", "x.xml"},
		{"graph"},
		{"graphv"},
		{"graph", "x.png", "bogus"},
		{"graphv", "x.png", "--width", "5", "LINE:1"},
		{"graphv", "x.png", "DEF:a=none:x:AVERAGE", "LINE:a"},
	}
	return mistakes[c.IntN(len(mistakes))]
}
