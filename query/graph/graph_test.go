package graph_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/graph"
	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
)

// nothing is a source without series.
type nothing struct{}

func (nothing) Open(context.Context, string, string) (query.Store, core.Ref, error) {
	return nil, 0, errors.New("no such series")
}

const begin = 1200000000

// laidOut lays out a graph of 900 seconds whose options and lines are words.
func laidOut(t testing.TB, words string) (*graph.Layout, *graph.Graph, error) {
	t.Helper()
	o := graph.NewOptions(time.Unix(begin+900, 0).UTC())
	set := [][2]string{{"start", fmt.Sprint(begin)}, {"end", fmt.Sprint(begin + 900)}}
	var lines []string
	for word := range strings.FieldsSeq(words) {
		if point, ok := strings.CutPrefix(word, "point="); ok {
			o.Point = graphdata.Point(point)
			continue
		}
		if option, ok := strings.CutPrefix(word, "--"); ok {
			name, arg, _ := strings.Cut(option, "=")
			set = append(set, [2]string{name, arg})
			continue
		}
		lines = append(lines, strings.ReplaceAll(word, "_", " "))
	}
	for _, s := range set {
		if err := o.Set(s[0], s[1]); err != nil {
			return nil, nil, err
		}
	}
	if err := o.Finish(); err != nil {
		return nil, nil, err
	}
	g, err := graph.New(o, lines)
	if err != nil {
		return nil, nil, err
	}
	if err := g.Run(t.Context(), nothing{}); err != nil {
		return nil, nil, err
	}
	l, err := g.Layout()
	if err != nil {
		return nil, nil, err
	}
	l.Measure()
	return l, g, nil
}

func labels(l []graph.Label) string {
	var out []string
	for _, x := range l {
		out = append(out, fmt.Sprintf("%.0f %s", x.At, strings.TrimSpace(x.Text)))
	}
	return strings.Join(out, ", ")
}

// The numbers and texts are rrdtool's.
func TestLayout(t *testing.T) {
	for _, tt := range []struct{ words, size, y, x string }{
		{"LINE:5#ff0000:a", "481x155 51,15 4..6", "115 4.0, 90 4.5, 65 5.0, 40 5.5, 15 6.0", "51 21:20, 184 21:25, 317 21:30, 451 21:35"},
		{"--right-axis=2:1 LINE:5#ff0000", "532x141 51,15 4..6", "115 4.0, 90 4.5, 65 5.0, 40 5.5, 15 6.0", "51 21:20, 184 21:25, 317 21:30, 451 21:35"},
		{"--logarithmic --lower-limit=1 --upper-limit=1000 --rigid LINE:5", "481x141 51,15 1..1000", "115 1e+00, 82 1e+01, 48 1e+02", "51 21:20, 184 21:25, 317 21:30, 451 21:35"},
		{"--logarithmic --rigid --upper-limit=0 LINE:5", "481x141 51,15 1e-09..1", "115 1e-09, 82 1e-06, 48 1e-03", "51 21:20, 184 21:25, 317 21:30, 451 21:35"},
		{"--full-size-mode --width=300 --height=200 --title=a LINE:-5", "300x200 51,28 -5..-4", "174 -5.0, 159 -4.9, 145 -4.8, 130 -4.7, 116 -4.6, 101 -4.5, 86 -4.4, 72 -4.3, 57 -4.2, 43 -4.1, 28 -4.0", "51 21:20, 124 21:25, 197 21:30, 270 21:35"},
		{"--only-graph LINE:5000", "400x100 0,0 4000..6000", "", ""},
		{"--utc --legend-position=west --vertical-label=v --units-exponent=0 HRULE:0#ff0000:a LINE:5e6", "550x132 120,15 4e+06..6e+06", "115 4000000, 90 4500000, 65 5000000, 40 5500000, 15 6000000", "120 21:20, 253 21:25, 386 21:30, 520 21:35"},
	} {
		t.Run(tt.words, func(t *testing.T) {
			l, _, err := laidOut(t, tt.words)
			if err != nil {
				t.Fatal(err)
			}
			size := fmt.Sprintf("%dx%d %g,%g %g..%g", l.ImageWidth, l.ImageHeight, l.Left, l.Top, l.Min, l.Max)
			if size != tt.size {
				t.Errorf("size, place, limits: %s, want %s", size, tt.size)
			}
			if got := labels(l.YLabels); got != tt.y {
				t.Errorf("y labels: %s\nwant      %s", got, tt.y)
			}
			if got := labels(l.XLabels); got != tt.x {
				t.Errorf("x labels: %s\nwant      %s", got, tt.x)
			}
		})
	}
}

// TestPointOfAxes: the labels of both axes have the decimal point of the locale. The texts are
// rrdtool's.
func TestPointOfAxes(t *testing.T) {
	for words, want := range map[string]string{
		"LINE:1.5": "115 1,2, 98 1,3, 82 1,4, 65 1,5, 48 1,6, 32 1,7, 15 1,8; ",
		"--lower-limit=2 --upper-limit=2.05 --rigid --alt-y-grid LINE:2":                                               "115 2,00, 95 2,01, 75 2,02, 55 2,03, 35 2,04, 15 2,05; ",
		"--left-axis-format=%9.3lf. --lower-limit=1 --upper-limit=2 --rigid LINE:1":                                    "115 1,000., 95 1,200., 75 1,400., 55 1,600., 35 1,800., 15 2,000.; ",
		"--left-axis-formatter=duration --left-axis-format=%.1s. --lower-limit=1000 --upper-limit=2000 --rigid LINE:1": "115 1,0., 95 1,2., 75 1,4., 55 1,6., 35 1,8., 15 2,0.; ",
		"--right-axis=0.1:0 --right-axis-format=%.2lfk. --lower-limit=10 --upper-limit=20 --rigid LINE:1":              "115 10, 95 12, 75 14, 55 16, 35 18, 15 20; 115 1,00k., 95 1,20k., 75 1,40k., 55 1,60k., 35 1,80k., 15 2,00k.",
	} {
		l, _, err := laidOut(t, "point=, "+words)
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		if got := labels(l.YLabels) + "; " + labels(l.RightLabels); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", words, got, want)
		}
	}
}

// TestLimitThatStaysKeepsItsBits: a limit far below the unit of the axis was divided by the unit
// and multiplied again, so that graphv printed another last bit than rrdtool.
func TestLimitThatStaysKeepsItsBits(t *testing.T) {
	const highest = 259750430.55331108
	l, _, err := laidOut(t, fmt.Sprintf("LINE:-2.6e17 LINE:%v", highest))
	if err != nil {
		t.Fatal(err)
	}
	if l.Max != highest || l.Min != -3e17 {
		t.Errorf("%v..%v, want -3e17..%v", l.Min, l.Max, highest)
	}
}

func TestLimitsOfGraphs(t *testing.T) {
	many := strings.Repeat("LINE:1 ", graph.MaxElements+1)
	for words, want := range map[string]string{
		"--width=100000 LINE:1":           "width above 16384 pixels",
		"--height=99999999999999 LINE:1":  "height above 16384 pixels",
		"--x-grid=HOUR:0:DAY:1:DAY:1:0:x": "invalid x-grid format",
		"--grid-dash=-1:1":                "invalid grid-dash format",
		many:                              "a graph of 4097 elements: more than 4096",
		"LINE:1 COMMENT:bad\\x":           `Unknown control code at the end of 'bad\x'`,
		"--graph-type=XY LINE:1":          "XY diagram not implemented",
	} {
		if _, _, err := laidOut(t, words); err == nil || err.Error() != want {
			t.Errorf("%.40s: %v, want %s", words, err, want)
		}
	}
}

// TestGridsAreBounded asks for more lines than anybody can see.
func TestGridsAreBounded(t *testing.T) {
	for _, words := range []string{
		"--y-grid=1e-9:1 --upper-limit=1e9 LINE:1", "--start=now-20y --x-grid=SECOND:1:SECOND:1:SECOND:1:0:%S LINE:1",
		"--start=now-20y --x-grid=YEAR:1:SECOND:1:SECOND:1:0:%S LINE:1", "--logarithmic --lower-limit=1e-300 --upper-limit=1e300 --rigid LINE:1", "--lower-limit=-1e308 --upper-limit=1e308 LINE:1", "LINE:inf", "LINE:nan",
		"--upper-limit=inf --rigid LINE:1", "--lower-limit=nan --height=10 --width=10 --alt-y-grid LINE:1e-320", "--tabwidth=0 COMMENT:a\\tb\\tc LINE:1", "--tabwidth=nan COMMENT:a\\tb\\tc LINE:1",
	} {
		l, _, err := laidOut(t, words)
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		if n := len(l.XLines) + len(l.YLines) + len(l.XLabels) + len(l.YLabels); n > 1<<19 {
			t.Errorf("%s: %d lines and labels", words, n)
		}
	}
}

// A recorder is a canvas that counts what is drawn, and notes places that are no numbers.
type recorder struct {
	fills, strokes, texts, gradients int
	wrong                            []string
	read                             []string
}

func (r *recorder) points(what string, paths ...[]canvas.Point) {
	for _, path := range paths {
		for _, p := range path {
			if math.IsNaN(p.X+p.Y) || math.Abs(p.X)+math.Abs(p.Y) > 1e7 {
				r.wrong = append(r.wrong, fmt.Sprint(what, p))
			}
		}
	}
}

func (r *recorder) Fill(_ canvas.Color, paths ...[]canvas.Point) {
	r.fills++
	r.points("fill", paths...)
}

func (r *recorder) Gradient(path []canvas.Point, _ float64, _ canvas.Color, _ float64, _ canvas.Color) {
	r.gradients++
	r.points("gradient", path)
}

func (r *recorder) Stroke(_ canvas.Stroke, path []canvas.Point) {
	r.strokes++
	r.points("stroke", path)
}

func (r *recorder) Text(t canvas.Text) {
	r.texts++
	r.points("text", []canvas.Point{t.At})
	for _, run := range t.Runs {
		r.read = append(r.read, run.Text)
	}
}

func (r *recorder) Clip(_ canvas.Rect, draw func()) { draw() }
func (r *recorder) Group(_, _ string, draw func())  { draw() }
func (r *recorder) Fit() bool                       { return true }
func (r *recorder) Len() int                        { return 0 }
func (r *recorder) Encode(io.Writer) error          { return nil }

func TestDraw(t *testing.T) {
	l, _, err := laidOut(t, "--title=<b>Title</b> --pango-markup --watermark=mark AREA:5#ff0000#00ff00:grad LINE2:6#0000ff:line TICK:1#00ff00:0.5 AREA:-3#123456 HRULE:5#ff0000:rule VRULE:1200000300#00ff00:then COMMENT:a\\tb")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	l.Draw(r, func() bool { return false })
	if len(r.wrong) > 0 || r.gradients != 1 {
		t.Errorf("%+v", r)
	}
	text := strings.Join(r.read, "|")
	for _, want := range []string{"Title", "mark", "  grad", "  line", "  rule", "  then", "a", "b", "RONDO"} {
		if !strings.Contains("|"+text+"|", "|"+want+"|") {
			t.Errorf("%q is not drawn: %s", want, text)
		}
	}
}

// FuzzGraph draws graphs of any options and lines.
func FuzzGraph(f *testing.F) {
	for _, words := range []string{
		"LINE:5#ff0000:a", "--right-axis=2:1 AREA:5#ff0000:b\\r GPRINT:a:x", "--logarithmic --rigid --upper-limit=5 LINE:5", "--zoom=3 --font=DEFAULT:20 --tabwidth=1e300 COMMENT:a\\tb\\l",
		"--x-grid=MONTH:1:YEAR:2:WEEK:3:99999999:%c --start=1000000000 TICK:1#fff:-2", "--units=si --logarithmic LINE:1e-300", "--pango-markup --title=<span_size='x'>a&lt;b</span> HRULE:5#fff:<b>x",
		"--legend-direction=bottomup2 --legend-position=east COMMENT:x\\u COMMENT:y\\s TEXTALIGN:right LINE:1#fff:z\\g", "--left-axis-formatter=duration --left-axis-format=%5.300H LINE:1",
	} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		l, _, err := laidOut(t, words)
		if err != nil {
			return
		}
		r := &recorder{}
		l.Draw(r, func() bool { return false })
		if len(r.wrong) > 0 {
			t.Errorf("%+v", r)
		}
	})
}

// The limits are rrdtool's.
func TestSensibleLimits(t *testing.T) {
	for words, want := range map[string][2]float64{
		"--lower-limit=-100 --upper-limit=2000": {-200, 2000},
		"--lower-limit=-200 --upper-limit=2000": {-200, 2000},
		"--lower-limit=-50 --upper-limit=2000":  {-50, 2000},
		"--lower-limit=-2000 --upper-limit=100": {-2000, 200},
	} {
		l, _, err := laidOut(t, words+" HRULE:1#ff0000")
		if err != nil || l.Min != want[0] || l.Max != want[1] {
			t.Errorf("%s: got %v, %v, want %v", words, l.Min, l.Max, want)
		}
	}
}
