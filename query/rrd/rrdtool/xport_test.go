package rrdtool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/enginetest"
)

func TestXport(t *testing.T) {
	s := newMemory()
	me := &rondo{store: s, now: time.Unix(1200000100, 0), loc: time.UTC}
	for _, c := range []string{
		"create a.rrd -b 1200000000 -s 10 DS:x:GAUGE:20:U:U RRA:LAST:0:1:50",
		"update a.rrd 1200000010:1 1200000020:2 1200000030:U 1200000040:4",
	} {
		if a := me.run(strings.Fields(c)); a.Exit != 0 {
			t.Fatal(a)
		}
	}
	const lines = "DEF:a=a.rrd:x:LAST CDEF:b=a,INF,+ XPORT:a:one XPORT:b"
	for options, want := range map[string]string{
		"-t --enumds": `<?xml version="1.0" encoding="ISO-8859-1"?>

<xport>
  <meta>
    <start>1200000020</start>
    <end>1200000040</end>
    <step>10</step>
    <rows>3</rows>
    <columns>2</columns>
    <legend>
      <entry>one</entry>
      <entry></entry>
    </legend>
  </meta>
  <data>
    <row><t>1200000020</t><v0>2.0000000000e+00</v0><v1>inf</v1></row>
    <row><t>1200000030</t><v0>NaN</v0><v1>NaN</v1></row>
    <row><t>1200000040</t><v0>4.0000000000e+00</v0><v1>inf</v1></row>
  </data>
</xport>
`,
		"--json": `{ "about": "RRDtool graph JSON output",
  "meta": {
    "start": 1200000020,
    "end": 1200000040,
    "step": 10,
    "legend": [
      "one",
      ""
          ]
     },
  "data": [
    [ 2.0000000000e+00, null ],
    [ null, null ],
    [ 4.0000000000e+00, null ]
  ]
}
`,
	} {
		got := me.run(strings.Fields("xport -s 1200000010 -e 1200000040 " + options + " " + lines))
		if d := cmp.Diff(answer{Stdout: want}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", options, d)
		}
	}
	// rrdtool prints what lies in memory before and behind a column.
	got := me.run(strings.Fields("xport -s 1200000010 -e 1200000040 DEF:a=a.rrd:x:LAST SHIFT:a:10 XPORT:a"))
	if !strings.Contains(got.Stdout, "<row><v>NaN</v></row>\n    <row><v>2.0000000000e+00</v></row>\n    <row><v>NaN</v></row>\n") {
		t.Errorf("a shifted column:\n%s", got.Stdout)
	}
}

func TestFlushcached(t *testing.T) {
	s := enginetest.Open(t)
	me := &rondo{store: s, now: time.Unix(1200000100, 0), loc: time.UTC}
	for command, want := range map[string]answer{
		"create a.rrd -b 1200000000 DS:x:GAUGE:600:U:U RRA:LAST:0:1:5": {},
	} {
		if got := me.run(strings.Fields(command)); got != want {
			t.Fatal(got)
		}
	}
	for command, want := range map[string]answer{
		"flushcached a.rrd a.rrd": {},
		"flushcached a.rrd b.rrd": {Stderr: "ERROR: opening 'b.rrd': No such file or directory\n", Exit: 1},
		"flushcached -x":          {Stderr: "ERROR: invalid option -- 'x'\n", Exit: 1},
		"flushcached --":          {Stderr: "ERROR: Usage: rrdtool flushcached [--daemon|-d <addr>] <file> [<file> ...]\n", Exit: 1},
	} {
		if got := me.run(strings.Fields(command)); got != want {
			t.Errorf("%s: got %+v, want %+v", command, got, want)
		}
	}
}

// BenchmarkXport exports a day of one series, 360 rows.
func BenchmarkXport(b *testing.B) {
	s := enginetest.Open(b)
	me := &rondo{store: s, now: time.Unix(1200003600, 0), loc: time.UTC}
	me.run(strings.Fields("create a.rrd -b 1200000000 -s 10 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:1000"))
	update := []string{"update", "a.rrd"}
	for i := range 360 {
		update = append(update, fmt.Sprintf("%d:%d.5", 1200000010+10*i, i))
	}
	if a := me.run(update); a.Exit != 0 {
		b.Fatal(a)
	}
	args := strings.Fields("xport -s 1200000000 -e 1200003599 DEF:a=a.rrd:x:AVERAGE XPORT:a:a")
	b.ReportAllocs()
	for b.Loop() {
		if a := me.run(args); a.Exit != 0 {
			b.Fatal(a)
		}
	}
}

// TestPredictAtTheEnd: a moving average of values that are all equal is that value in each row,
// and in the one behind the end.
func TestPredictAtTheEnd(t *testing.T) {
	r := newRondo()
	lines := []string{"create p.rrd -b 1199999700 -s 300 DS:a:GAUGE:600:U:U RRA:AVERAGE:0.5:1:100"}
	for i := range 48 {
		lines = append(lines, fmt.Sprintf("update p.rrd %d:100", 1199999700+300*(i+1)))
	}
	for _, line := range lines {
		if a := r.run(strings.Fields(line)); a.Exit != 0 {
			t.Fatal(a.Stderr)
		}
	}
	a := r.run(strings.Fields("xport --json -s 1200003000 -e 1200014100 DEF:a=p.rrd:a:AVERAGE CDEF:m=0,1,3600,a,PREDICT VDEF:l=m,LAST PRINT:l:%lf VDEF:n=m,MINIMUM PRINT:n:%lf XPORT:m"))
	if n := strings.Count(a.Stdout, `{ "print": "100.000000" }`); n != 2 || a.Exit != 0 {
		t.Errorf("%d of 2 are 100: %+v", n, a)
	}
}

// TestInfinitiesOfBothSigns: where they meet in the rows of a column's row, the sum begins anew.
func TestInfinitiesOfBothSigns(t *testing.T) {
	me := &rondo{store: newMemory(), now: time.Unix(1200000100, 0), loc: time.UTC}
	var a answer
	for _, c := range []string{
		"create a.rrd -b 1200000000 -s 10 DS:x:GAUGE:20:U:U RRA:AVERAGE:0:1:50",
		"update a.rrd 1200000010:inf 1200000020:-inf 1200000030:6 1200000040:1 1200000050:inf 1200000060:-inf",
		"xport -s 1200000000 -e 1200000060 --step 30 DEF:a=a.rrd:x:AVERAGE XPORT:a",
	} {
		if a = me.run(strings.Fields(c)); a.Exit != 0 {
			t.Fatal(a)
		}
	}
	const want = "<row><v>2.0000000000e+00</v></row>\n    <row><v>NaN</v></row>\n"
	if !strings.Contains(a.Stdout, want) {
		t.Errorf("got %s\nwant %s", a.Stdout, want)
	}
}
