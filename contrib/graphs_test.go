package contrib_test

import (
	"bytes"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// graph is a call that draws, of one of the sources.
func (c *caller) graph() []string {
	file := strings.ReplaceAll(strings.ReplaceAll(c.name, `\`, `\\`), ":", `\:`)
	from := c.at - int64(c.IntN(300))
	call := []string{
		c.oneOf("graph", "graphv", "graphv"), c.oneOf("g.png", "g.png", "g d.png", "é.png"),
		"-s", strconv.FormatInt(from, 10), "-e", strconv.FormatInt(from+10+int64(c.IntN(300)), 10),
		"DEF:a=" + file + ":d0:AVERAGE", "CDEF:b=a," + c.oneOf("3,/", "-1e9,*", "UN,INF,a,IF"), "VDEF:m=a,MAXIMUM",
	}
	options := [][]string{
		{"--imginfo", c.oneOf("%s %lu %lu", `<"%s" %lux%lu>`, "\\%s")},
		{"-w", "300", "-h", "77"},
		{"-a", c.oneOf("SVG", "PDF", "EPS")},
		{"-z"},
		{"--title", "a\nb", "--right-axis", "2:1"},
		{"--only-graph", "--border", "0"},
		{"-j", "-x", "none", "--legend-position", "west"},
		{"--units-exponent", "0", "-l", "-10", "-u", "1e-3", "-r"},
		{"-h", "-5"},
		{"--nosuch"},
	}
	for range c.IntN(3) {
		call = append(call, options[c.IntN(len(options))]...)
	}
	if slices.Contains(call, "-z") {
		call[3] = "1000" // a column is so wide that no picture is too old, however slow the machine is
	}
	if call[0] == "graphv" && c.IntN(3) == 0 {
		call[1] = "-"
		call = append(call, "-a", c.oneOf("CSV", "JSON", "XML", "TSV", "PNG"))
	}
	elements := []string{
		"LINE1:a#ff0000:" + c.oneOf("one", `t'w"o`, `back\\slash`, `two\nlines`, "two\nlines", "a\r\nb\tc", "ü\\l"),
		"AREA:b#00ff0080", "HRULE:5#000", "COMMENT:" + c.oneOf("x", `"`, `a\:b`), "TICK:a#fff:1",
		"PRINT:a:" + c.oneOf("AVERAGE", "LAST") + ":" + c.oneOf("%lf", `"%6.2le"`, "12", "a\n%lg", `\%lg`, "%lg %s ü"),
		"PRINT:m:" + c.oneOf("%3.0lf", "%H:strftime"), `GPRINT:m:%lg %s\l`, "LINE:nosuch#fff", "PRINT:a:%d",
	}
	if call[1] == "-" { // rrdtool puts what it printed last in the place of a time that is unknown
		elements[6] = "PRINT:m:%lg"
	}
	for range 1 + c.IntN(6) {
		call = append(call, elements[c.IntN(len(elements))])
	}
	return append(call, c.oneOf(elements[0], "PRINT:a:MIN:%lf")) // without anything to draw there is no size
}

// pictured returns a result as it is compared: pictures are not, nor is the sign of what is unknown.
func pictured(call []string, r result) result {
	if call[0] != "graph" && call[0] != "graphv" {
		return r
	}
	r.Got = plainPrints(r.Got)
	return r
}

func plainPrints(v any) any {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "PNG\r\n") {
			return "a picture"
		}
		return strings.ReplaceAll(v, "-nan", "nan")
	case []any:
		for i := range v {
			v[i] = plainPrints(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plainPrints(v[key])
		}
	}
	return v
}

// TestGraphOnOutput has both modules draw a picture called -, in the midst of what the program
// prints: it came back as an error, or was lost.
func TestGraphOnOutput(t *testing.T) {
	const args = `'-', '-a', 'CSV', '-s', '1000000000', '-e', '1000000020', 'DEF:a=a.rrd:v:AVERAGE', 'LINE:a#ff0000:x', 'PRINT:a:MAX:%lf'`
	const want = "before\n\"time\",\"x\"\r\n1000000010,\"5.0000000000e+00\"\r\n1000000020,\"6.0000000000e+00\"\r\n[[\"6.000000\"],0,0]\nafter\n"
	for _, program := range [][]string{
		{"perl", "-MRRDs", "-MJSON::PP", "-e", `print "before\n"; print JSON::PP->new->encode([RRDs::graph(` + args + `)]), "\nafter\n"; die RRDs::error if RRDs::error`},
		{"python3", "-c", `import rrdtool; print("before"); w, h, p = rrdtool.graph(` + args + `); print('[["%s"],%d,%d]\nafter' % (p[0], w, h))`},
	} {
		t.Run(program[0], func(t *testing.T) {
			rrdtooltest.Need(t, program[0])
			dir := t.TempDir()
			rondo(t, dir, "create", "a.rrd", "--start", "1000000000", "--step", "10", "DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
			rondo(t, dir, "update", "a.rrd", "1000000010:5", "1000000020:6")
			cmd := exec.Command(program[0], program[1:]...)
			cmd.Dir, cmd.Env = dir, environment(t, dir)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil || string(out) != want {
				t.Errorf("%v\n%s%q\nwant\n%q", err, errs.String(), out, want)
			}
		})
	}
}

// TestGraphvAddsData has both modules return the columns of a picture beside it.
func TestGraphvAddsData(t *testing.T) {
	const args = `'-', '--add-jsontime', '-s', '1000000000', '-e', '1000000020', 'DEF:a=a.rrd:v:AVERAGE', 'LINE:a#ff0000:x'`
	for _, program := range [][]string{
		{"perl", "-MRRDs", "-MJSON::PP", "-e", `my $h = RRDs::graphv(` + args + `) or die RRDs::error; print join ' ', substr($h->{image}, 1, 3), @{ decode_json($h->{datapoints})->{data}[1] }`},
		{"python3", "-c", `import rrdtool, json; h = rrdtool.graphv(` + args + `); print(h["image"][1:4].decode(), *json.loads(h["datapoints"])["data"][1], end="")`},
	} {
		t.Run(program[0], func(t *testing.T) {
			rrdtooltest.Need(t, program[0])
			dir := t.TempDir()
			rondo(t, dir, "create", "a.rrd", "--start", "1000000000", "--step", "10", "DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
			rondo(t, dir, "update", "a.rrd", "1000000010:5.5", "1000000020:6.5")
			cmd := exec.Command(program[0], program[1:]...)
			cmd.Dir, cmd.Env = dir, environment(t, dir)
			if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSuffix(string(out), "000000000e+00") != "PNG 1000000020 6.5" {
				t.Errorf("%v\n%q", err, out)
			}
		})
	}
}
