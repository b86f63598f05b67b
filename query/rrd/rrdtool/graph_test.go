package rrdtool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// graphed is a series of nine minutes with the values 1 to 9, and what draws it into a folder.
func graphed(t *testing.T) (draw func(args ...string) answer, folder string) {
	t.Helper()
	me := &rondo{store: newMemory(), now: time.Unix(1200001000, 0), loc: time.UTC}
	for _, c := range []string{
		"create a.rrd -b 1200000000 -s 60 DS:x:GAUGE:120:U:U RRA:AVERAGE:0:1:50",
		"update a.rrd 1200000060:1 1200000120:2 1200000180:3 1200000240:9 1200000300:5 1200000360:6",
	} {
		if a := me.run(strings.Fields(c)); a.Exit != 0 {
			t.Fatal(a)
		}
	}
	folder = t.TempDir()
	return func(args ...string) answer {
		t.Helper()
		if len(args) == 1 {
			args = strings.Fields(args[0])
		}
		return me.draw(files(folder), args)
	}, folder
}

// TestXportLeavesLegend: the legend of an XPORT, which graph does not draw, was missing in the
// picture.
func TestXportLeavesLegend(t *testing.T) {
	draw, _ := graphed(t)
	a := draw("graphv o.png -s 1200000060 -e 1200000360 DEF:d=a.rrd:x:AVERAGE LINE1:d#f00:text XPORT:d:leg COMMENT:x")
	if !strings.Contains(a.Stdout, "legend[1] = \"leg\"\ncoords[1] = \"248,134,268,148\"") {
		t.Errorf("%v", a)
	}
}

// TestColumnShowsRowItBeginsWith: column 100 begins at 207 seconds, where a row begins that no other
// column shows. 100 times 2.07 is a little less than 207, so that it showed the row before.
func TestColumnShowsRowItBeginsWith(t *testing.T) {
	me := &rondo{store: newMemory(), now: time.Unix(1200004000, 0), loc: time.UTC}
	update := []string{"update", "a.rrd"}
	for at := 1200002301; at <= 1200003141; at++ {
		value := 1
		if at == 1200002521 || at == 1200002522 {
			value = 50
		}
		update = append(update, fmt.Sprintf("%d:%d", at, value))
	}
	for _, args := range [][]string{strings.Fields("create a.rrd -b 1200002300 -s 1 DS:x:GAUGE:10:U:U RRA:AVERAGE:0.5:1:1000"), update} {
		if a := me.run(args); a.Exit != 0 {
			t.Fatal(a)
		}
	}
	a := me.draw(files(t.TempDir()), strings.Fields("graphv o.png -s 1200002313 -e 1200003141 DEF:a=a.rrd:x:AVERAGE LINE:a"))
	if !strings.Contains(a.Stdout, "value_max = 5.0000000000e+01") {
		t.Errorf("%v", a)
	}
}

// TestVRuleStandsAtTimeOfVDEF has rules at the time of a greatest value, which is not the value, and
// at a time that there is not.
func TestVRuleStandsAtTimeOfVDEF(t *testing.T) {
	draw, _ := graphed(t)
	a := draw("graphv o.svg -a SVG -s 1200000060 -e 1200000360 DEF:a=a.rrd:x:AVERAGE VDEF:most=a,MAXIMUM VDEF:mean=a,AVERAGE LINE:a VRULE:most#ff0000:most VRULE:mean#ff0000:mean HRULE:mean#00ff00:height")
	if !strings.Contains(a.Stdout, `legend[0] = "  most"`) || strings.Contains(a.Stdout, `"  mean"`) || !strings.Contains(a.Stdout, `legend[1] = "  height"`) {
		t.Errorf("%v", a)
	}
}

// TestStackOfWrongColour has a STACK with a wrong colour, which rrdtool refuses, where it ignores
// other lines with such a colour.
func TestStackOfWrongColour(t *testing.T) {
	draw, _ := graphed(t)
	for colour, want := range map[string]string{"#12345": "ERROR: STACK should already be turned into LINE or AREA here\n", "#123456": ""} {
		for _, format := range []string{"SVG", "CSV"} {
			a := draw("graphv o.svg -a " + format + " -s 1200000060 -e 1200000360 DEF:a=a.rrd:x:AVERAGE LINE:a#fff STACK:a" + colour)
			if a.Stderr != want {
				t.Errorf("%s as %s: %v", colour, format, a)
			}
			if a := draw("graphv o.svg -a " + format + " DEF:a=a.rrd:x:AVERAGE STACK:a#12345"); a.Stderr == "" || want != "" && a.Stderr != want {
				t.Errorf("alone as %s: %v", format, a)
			}
		}
	}
}

// TestRuleAtNoNumber has the legend of HRULE:nan, which is left out where the legend of HRULE:0 is.
func TestRuleAtNoNumber(t *testing.T) {
	draw, _ := graphed(t)
	for limit, shown := range map[string]bool{"-l 5": false, "-u -5": false, "-l -5": true, "-u 5": true} {
		a := draw("graphv o.svg -a SVG -s 1200000060 -e 1200000360 HRULE:nan#000:none " + limit)
		if strings.Contains(a.Stdout, `"  none"`) != shown {
			t.Errorf("%s: %v", limit, a)
		}
	}
}

// TestDataFormatsWriteTimesAsXGrid has data formats whose times have the format of --x-grid, and
// numbers without it.
func TestDataFormatsWriteTimesAsXGrid(t *testing.T) {
	draw, folder := graphed(t)
	const grid, lines = " -x HOUR:1:HOUR:1:HOUR:1:0:%H:%M ", " -s 1200000060 -e 1200000180 DEF:a=a.rrd:x:AVERAGE LINE:a#ff0000:one VRULE:1200000120#000"
	for options, want := range map[string]string{
		"-a CSV":            "\"time\",\"one\"\r\n1200000120,\"2.0000000000e+00\"\r\n1200000180,\"3.0000000000e+00\"\r\n",
		"-a TSV" + grid:     "\"time\"\t\"one\"\r\n21:22\t\"2.0000000000e+00\"\r\n21:23\t\"3.0000000000e+00\"\r\n",
		"-a JSON" + grid:    "\"start\": \"21:22\",\n    \"end\": \"21:23\"",
		"-a JSON":           "\"start\": 1200000120,\n    \"end\": 1200000180",
		"-a XML" + grid:     "<start>21:22</start>\n    <end>21:23</end>",
		"-a XML " + grid:    "<vrule>21:22</vrule>",
		"-a JSONTIME":       "[ \"1200000120\",2.0000000000e+00 ]",
		"-aJSONTIME" + grid: "[ \"21:22\",2.0000000000e+00 ]",
	} {
		if a := draw("graph o.txt " + options + lines); a.Exit != 0 {
			t.Fatal(a)
		}
		got, err := os.ReadFile(filepath.Join(folder, "o.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: no %q in\n%s", options, want, got)
		}
	}
}

// TestColumnsWithoutBlanks has legends that begin with blanks: legends of columns and of lines lose
// them, and legends of areas do not.
func TestColumnsWithoutBlanks(t *testing.T) {
	draw, folder := graphed(t)
	for _, args := range [][]string{
		{"graph", "o.txt", "-a", "XML"},
		{"xport", "XPORT:a:   one", "XPORT:a:legend= \ttwo"},
	} {
		args = slices.Insert(args, len(args)-2, "-s", "1200000060", "-e", "1200000180", "DEF:a=a.rrd:x:AVERAGE", "LINE:a#ff0000:   one", "AREA:a#ff0000: \ttwo")
		a := draw(args...)
		got := a.Stdout
		if args[0] == "graph" {
			b, err := os.ReadFile(filepath.Join(folder, "o.txt"))
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		var entries []string
		for line := range strings.Lines(got) {
			if strings.Contains(line, "one") || strings.Contains(line, "two") {
				entries = append(entries, strings.TrimSpace(line))
			}
		}
		if d := cmp.Diff([]string{"<entry>one</entry>", "<entry>two</entry>", "<line>one</line>", "<area>   \ttwo</area>"}, entries); d != "" {
			t.Errorf("%s (-want +got):\n%s", quoted(args), d)
		}
	}
}

// TestColumnOfWrongColor draws a line whose colour is wrong. It ends the graph's lines, and lost its
// column in the data formats, which rrdtool keeps.
func TestColumnOfWrongColor(t *testing.T) {
	draw, folder := graphed(t)
	draw("graph", "o.txt", "-a", "XML", "-s", "1200000060", "-e", "1200000180", "DEF:a=a.rrd:x:AVERAGE", "LINE:a#ff0000:one", "AREA:a#gg0000:two", "LINE:a#ff0000:three")
	got, err := os.ReadFile(filepath.Join(folder, "o.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), "<columns>2</columns>") || !strings.Contains(string(got), "<entry></entry>") {
		t.Errorf("the line of a wrong colour has no column:\n%s", got)
	}
}

// TestPrefixForgottenByDataFormats prints %S twice. XML and JSON print by themselves first, and then
// each of the lines has a prefix of its own.
func TestPrefixForgottenByDataFormats(t *testing.T) {
	draw, _ := graphed(t)
	for format, want := range map[string]string{"CSV": "1e+08 k", "JSON": "100 G", "XML": "100 G"} {
		a := draw("graph", "o.txt", "-a", format, "-s", "1200000060", "-e", "1200000180", "DEF:a=a.rrd:x:AVERAGE", "CDEF:k=a,0,*,4000,+", "CDEF:g=a,0,*,1e11,+", "LINE:a", "PRINT:k:MAX:%lg %S", "PRINT:g:MAX:%lg %S")
		if want = "0x0\n4 k\n" + want + "\n"; a.Stdout != want {
			t.Errorf("%s: %q, want %q", format, a.Stdout, want)
		}
	}
}

// TestPrintOfZeros prints zeros of both signs. Of equal values MIN and MAX print the last one.
func TestPrintOfZeros(t *testing.T) {
	draw, _ := graphed(t)
	a := draw("graph o.png -s 1200000060 -e 1200000180 DEF:a=a.rrd:x:AVERAGE LINE:a " +
		"CDEF:z=2.5,a,-,0,* PRINT:z:MAX:%lf PRINT:z:MIN:%lf CDEF:y=z,-1,* PRINT:y:MAX:%lf PRINT:y:MIN:%lf")
	if want := "-0.000000\n-0.000000\n0.000000\n0.000000\n"; !strings.HasSuffix(a.Stdout, want) {
		t.Errorf("%v, want %q", a, want)
	}
}

// TestBadFormatWithPrefix: the error for a format has %s for its first %S.
func TestBadFormatWithPrefix(t *testing.T) {
	draw, _ := graphed(t)
	a := draw("graph o.png -s 1200000060 -e 1200000180 DEF:a=a.rrd:x:AVERAGE LINE:a GPRINT:a:MAX:%q%S%S")
	if want := "ERROR: invalid format string '%q%s%S' (should match"; !strings.HasPrefix(a.Stderr, want) {
		t.Errorf("%v, want %q", a, want)
	}
}

// TestCommaBehindPrints: graph writes the comma behind the list of PRINTs if another list follows,
// and xport always.
func TestCommaBehindPrints(t *testing.T) {
	draw, _ := graphed(t)
	for _, x := range []struct{ call, more, want string }{
		{"graph - -a JSON", "", "]\n     },"},
		{"graph - -a JSONTIME", " TICK:a#ff0000:1", "]\n     },"},
		{"graph - -a JSON", " HRULE:1#ff0000", "],\n    ,\"rules\""},
		{"xport --json", "", "],\n     },"},
	} {
		a := draw(x.call + " -s 1200000060 -e 1200000180 DEF:a=a.rrd:x:AVERAGE XPORT:a PRINT:a:MAX:%lf" + x.more)
		if want := "\" }\n        " + x.want; !strings.Contains(a.Stdout, want) {
			t.Errorf("%s%s: no %q in\n%s", x.call, x.more, want, a.Stdout)
		}
	}
}

// TestLimitsOfMinusFourAndOne has limits whose difference rrdtool takes for none, as it overflows,
// and the name of the time zone of a value that is a time.
func TestLimitsOfMinusFourAndOne(t *testing.T) {
	draw, _ := graphed(t)
	a := draw("graphv o.svg -a SVG -s 1200000060 -e 1200000360 -l -4 -J DEF:a=a.rrd:x:AVERAGE LINE:a:x:skipscale PRINT:a:MAX:%Z:valstrftime")
	for _, want := range []string{"value_min = -4.5010000000e+00\n", "value_max = 1.0100000000e+00\n", "print[0] = \"GMT\"\n"} {
		if !strings.Contains(a.Stdout, want) {
			t.Errorf("no %q in %v", want, a)
		}
	}
}

// TestTimeThatIsNever prints a time that there is not, in a format with what is no conversion.
func TestTimeThatIsNever(t *testing.T) {
	draw, _ := graphed(t)
	a := draw("graph", "o.svg", "-a", "SVG", "-s", "1200000060", "-e", "1200000360", "DEF:a=a.rrd:x:AVERAGE", "VDEF:v=a,AVERAGE", "PRINT:v:%H% x%.x%@%%%n%^|%Y:strftime")
	if want := "0x0\n--% x%.x%@%\r\n-|----\n"; a.Stdout != want {
		t.Errorf("%q, want %q", a.Stdout, want)
	}
}

// TestAddJSONTime has graphv add the columns of a picture, as rrdtool 1.8 does. --add-jsontime put
// times into the format JSON, and did nothing with a picture.
func TestAddJSONTime(t *testing.T) {
	draw, folder := graphed(t)
	const lines = " -s 1200000060 -e 1200000180 DEF:a=a.rrd:x:AVERAGE LINE:a#ff0000:one"
	if a := draw("graph j.json -a JSON" + lines); a.Exit != 0 {
		t.Fatal(a)
	}
	if a := draw("graph t.json -a JSONTIME" + lines); a.Exit != 0 {
		t.Fatal(a)
	}
	if a := draw("graph added.json --add-jsontime -a JSON" + lines); a.Exit != 0 {
		t.Fatal(a)
	}
	content := func(name string) string {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if content("added.json") != content("j.json") {
		t.Errorf("with the format JSON: %s", content("added.json"))
	}
	want := fmt.Sprintf("datapoints = BLOB_SIZE:%d\n%s", len(content("t.json")), content("t.json"))
	if a := draw("graphv o.png --add-jsontime" + lines); !strings.Contains(a.Stdout, "coords[0]") || !strings.HasSuffix(a.Stdout, "\n"+want) {
		t.Errorf("beside a picture: %s", a.Stdout)
	}
	if a := draw("graph o.png --add-jsontime" + lines); a.Stdout != "481x155\n" {
		t.Errorf("of graph: %s", a.Stdout)
	}
}

// TestPlacesOfLegends: a line without text is not zoomed, as in rrdtool, and with tab stops of no
// width a place was no number.
func TestPlacesOfLegends(t *testing.T) {
	draw, _ := graphed(t)
	for _, tt := range []struct{ options, text, want string }{
		{"--zoom 2", "x\n\ny", "16,113,23,148"},
		{"--zoom 1.5", "x\n\n\ny", "16,101,23,148"},
		{"--zoom 1", "x\n\ny", "16,106,23,148"},
		{"-y none -T 0", `a\tb`, "16,134,39,148"},
	} {
		args := append(strings.Fields("graphv o.png -s 1200000060 -e 1200000180 "+tt.options), "DEF:a=a.rrd:x:AVERAGE", "COMMENT:"+tt.text, "LINE:a")
		if a := draw(args...); !strings.Contains(a.Stdout, `coords[0] = "`+tt.want+`"`) {
			t.Errorf("%s, %q: %s, want %s", tt.options, tt.text, a.Stdout, tt.want)
		}
	}
}
