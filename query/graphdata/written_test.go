package graphdata_test

import (
	"image/color"
	"math"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/graphdata"
)

// The texts are rrdtool's.
func TestFormatDuration(t *testing.T) {
	for _, tt := range []struct {
		v            float64
		format, want string
	}{
		{123456789123, "%W/%d/%D/%h/%H/%m/%M/%s/%S/%f", "204/0/1428/21/34293/33/2057613/9/123456789/123"},
		{-123456789123, "", "-34293:33:09"},
		{123456789123.456, "%8.2d|%08.3h|%.5D|%5%", "    0.89|0021.552|1428.89802|%"},
		{-5, "a%03f", "-a005"},
		{59999, "%.1s %.1m", "59.9 0.9"},
		{math.Copysign(0, -1), "", "0:00:00"},
	} {
		if got, ok := graphdata.FormatDuration(tt.format, tt.v, ""); !ok || got != tt.want {
			t.Errorf("%q of %g: %q %v, want %q", tt.format, tt.v, got, ok, tt.want)
		}
	}
	for _, format := range []string{"%", "%5", "%-5d", "%+d", "%lf", "%5.", "a%n"} {
		if got, ok := graphdata.FormatDuration(format, 1, ""); ok {
			t.Errorf("%q gives %q", format, got)
		}
	}
}

func TestFormatTimestamp(t *testing.T) {
	for v, want := range map[float64]string{0: "1970-01-01 00:00:00", -5.7: "1969-12-31 23:59:55", 1e15: "31690708-07-05 01:46:40", 1e19: "10000000000000000000"} {
		if got := graphdata.POSIXNames.FormatTimestamp("", v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

func TestCFormat(t *testing.T) {
	for _, tt := range []struct {
		format, prefix string
		v              float64
		want           string
	}{
		{"%lf", "", 1e25, "10000000000000000905969664.000000"},
		{"%.20lf", "", 0.12345678912345678, "0.12345678912345678380"},
		{"a%%%8.2le%%", "", -12744623.1875, "a%-1.27e+07%"},
		{"%lg|", "", 1e-309, "1e-309|"},
		{"%-8lf|%s.", "k", 1.5, "1.500000|k."},
		{"%08.1lf", "", -1.25, "-00001.2"},
		{"%+lF", "", 5, "+5.000000"},
	} {
		f, ok := graphdata.ParseCFormat(tt.format, true)
		if got := string(f.Append(nil, tt.v, tt.prefix, "")); !ok || got != tt.want {
			t.Errorf("%q of %g: %q %v, want %q", tt.format, tt.v, got, ok, tt.want)
		}
	}
	for _, format := range []string{"%d", "%lf%lf", "x", "%lf%s%S", "%s"} {
		if _, ok := graphdata.ParseCFormat(format, true); ok {
			t.Errorf("%q passes", format)
		}
	}
}

// What lines that draw say is kept.
func TestDrawings(t *testing.T) {
	p := graphdata.New(graphdata.Options{Now: time.Unix(1200000000, 0).UTC()})
	for _, line := range []string{"LINE2:5#f00:leg:STACK:dashes=4,2:dash-offset=1", "AREA:1#00ff0080#0000ff:gradheight=-7:skipscale", "STACK:3#fff", "TICK:1#000:-0.5:t", "AREA:1#12345:bad", "COMMENT:never read"} {
		if err := p.Add(line); err != nil {
			t.Fatal(err)
		}
	}
	marks, err := p.Written(1000)
	if err != nil || len(marks) != 5 { // the bad one is kept, without colours
		t.Fatal(marks, err)
	}
	line, area, stack, tick := marks[0].Drawing, marks[1].Drawing, marks[2], marks[3].Drawing
	if line.Width != 2 || !line.Stack || len(line.Dashes) != 2 || line.Dashes[1] != 2 || line.Offset != 1 || line.Value != 5 || line.Colors[0] != (color.NRGBA{R: 255, A: 255}) {
		t.Errorf("%+v", line)
	}
	if area.GradHeight != -7 || !area.SkipScale || len(area.Colors) != 2 || area.Colors[0].A != 128 {
		t.Errorf("%+v", area)
	}
	if stack.Kind != graphdata.AREA || !stack.Drawing.Stack || tick.Fraction != -0.5 {
		t.Errorf("%+v %+v", stack, tick)
	}
}
