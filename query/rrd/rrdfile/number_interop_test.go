package rrdfile_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// hard makes doubles that are hard to print: of any size, near the middle of two texts, near a
// power of ten.
func hard(r *rand.Rand) float64 {
	middle := math.Floor(r.Float64()*1e11) + 0.5
	switch r.IntN(8) {
	case 0:
		return math.Float64frombits(r.Uint64())
	case 1:
		return middle
	case 2:
		return middle / 1e11
	case 3:
		return middle * math.Pow(10, float64(r.IntN(80)-40))
	case 4:
		return middle * math.Pow(10, float64(r.IntN(500)-300))
	case 5:
		return math.Nextafter(math.Pow(10, float64(r.IntN(600)-300)), float64(r.IntN(3)))
	case 6:
		return -9.99999999995 * math.Pow(10, float64(r.IntN(600)-300)) * (1 + float64(r.IntN(5)-2)*1e-16)
	}
	return math.Float64frombits(r.Uint64N(1 << 54)) // denormal, or nearly
}

// TestNumbers: numbers are printed and read as rrdtool prints and reads them, to the last digit and
// bit.
func TestNumbers(t *testing.T) {
	r, tool, loc := seedtest.Rand(t), newPeer(t), berlin(t)
	f := fixed(t, 10, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:"+strconv.Itoa(100*seedtest.Programs(25, 5)))
	rows := f.State.Archives[0].Rows
	for i := range rows {
		rows[i] = hard(r)
	}
	rows[0] = 1e-14 // printed with a 10 in front of the point
	if err := os.WriteFile(tool.file("n.rrd"), binaryOf(t, f), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := dump(t, f, loc), tool.must("dump", "n.rrd"); got != want {
		t.Fatalf("dump (-rrdtool +rondo):\n%s", diffLines(want, got))
	}
	// The texts of other programs have other digits.
	text := dump(t, f, loc)
	var b strings.Builder
	b.WriteString(text[:strings.Index(text, "<row>")])
	for range rows {
		v := strconv.FormatFloat(hard(r), pick[byte](r, 'e', 'g', 'g'), pick(r, -1, 17, r.IntN(25)), 64)
		b.WriteString("<row><v>" + strings.TrimPrefix(v, "+") + "</v></row>\n")
	}
	b.WriteString("</database></rra></rrd>\n")
	text = b.String()
	if err := os.WriteFile(tool.file("n.xml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, msg, err := tool.run("restore", "-f", "n.xml", "n.rrd"); err != nil {
		t.Fatal(msg)
	}
	got, want := readXML(t, text, rrdfile.XMLOptions{}), open(t, tool.file("n.rrd"))
	for i, v := range want.State.Archives[0].Rows {
		if w := got.State.Archives[0].Rows[i]; math.Float64bits(w) != math.Float64bits(v) {
			t.Errorf("row %d: %x, rrdtool has %x", i, math.Float64bits(w), math.Float64bits(v))
		}
	}
}

// TestFarTimes: years before 1000 are printed as the C library prints them.
func TestFarTimes(t *testing.T) {
	tool, loc := newPeer(t), berlin(t)
	f := fixed(t, 86400*366, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:3000")
	if err := os.WriteFile(tool.file("far.rrd"), binaryOf(t, f), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := dump(t, f, loc), tool.must("dump", "far.rrd"); got != want {
		t.Fatalf("dump (-rrdtool +rondo):\n%s", diffLines(want, got))
	}
}

// TestPageInterop: rrdtool reads the page's example as rondo does.
func TestPageInterop(t *testing.T) {
	tool, loc := newPeer(t), berlin(t)
	raw := example(t)
	if err := os.WriteFile(tool.file("e.rrd"), raw, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := rrdfile.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := dump(t, f, loc), tool.must("dump", "e.rrd"); got != want {
		t.Errorf("dump (-rrdtool +rondo):\n%s", diffLines(want, got))
	}
	if !strings.Contains(dump(t, f, time.UTC), "<lastupdate>1000000035</lastupdate>") {
		t.Error("another last update")
	}
}

// TestOperators: expressions of every operator are coded as rrdtool codes them.
func TestOperators(t *testing.T) {
	tool, loc := newPeer(t), berlin(t)
	for op := range strings.FieldsSeq(`+ - * / % POW SIN COS ATAN ATAN2 SQRT LOG EXP FLOOR CEIL ABS RAD2DEG DEG2RAD
		LT LE GT GE EQ NE IF MIN MAX LIMIT MINNAN MAXNAN ADDNAN UN ISINF UNKN INF NEGINF NOW PREV(b)
		DUP POP EXC COPY DEPTH INDEX ROLL SORT REV AVG MEDIAN STDEV SMIN SMAX PERCENT -32768 32767 a`) {
		tool.must("create", "o.rrd", "-s", "10", "DS:a:GAUGE:20:U:U", "DS:b:GAUGE:20:U:U", "DS:c:COMPUTE:b,a,7,"+op+",a,b", "RRA:AVERAGE:0.5:1:3")
		raw := readFile(t, tool.file("o.rrd"))
		f, err := rrdfile.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		if want := "b,a,7," + op + ",a,b"; f.Definition.Sources[2].Expr != want {
			t.Errorf("%s, want %s", f.Definition.Sources[2].Expr, want)
		}
		if got := binaryOf(t, f); !bytes.Equal(got, raw) {
			t.Errorf("%s: written again: %s", op, diffBytes(raw, got))
		}
		if got, want := dump(t, f, loc), tool.must("dump", "o.rrd"); got != strings.Replace(want, "7,,a", "7,PREV(b),a", 1) {
			t.Errorf("%s: dump (-rrdtool +rondo):\n%s", op, diffLines(want, got))
		}
	}
}
