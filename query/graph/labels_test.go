package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/graph"
	"github.com/rondo-db/rondo/query/graph/canvas"
)

// TestLabelsTakeLittleMemory: an axis with a label for each second, or for each tenth of a pixel,
// in a format that makes each of them long, has a bounded number of short labels.
func TestLabelsTakeLittleMemory(t *testing.T) {
	wide := strings.Repeat("%512d", 800)
	for name, words := range map[string]string{
		"x":       fmt.Sprintf("--start=%d --x-grid=SECOND:1:SECOND:1:SECOND:1:0:%s LINE:5#ff0000", begin-100_000, wide),
		"letters": fmt.Sprintf("--start=%d --x-grid=SECOND:1:SECOND:1:SECOND:1:0:%s LINE:5#ff0000", begin-100_000, strings.Repeat("ä", 2000)),
		"y": "--y-grid=0.0001:1 --lower-limit=0 --upper-limit=6 --rigid --left-axis-format=%1000.1000lf" +
			" --right-axis=1:0 --right-axis-format=%1000.1000lf LINE:5#ff0000",
		"times": "--y-grid=0.0001:1 --lower-limit=0 --upper-limit=6 --rigid --left-axis-formatter=timestamp --left-axis-format=" + wide + " LINE:5#ff0000",
	} {
		l, _, err := laidOut(t, words)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		most := 0
		for _, labels := range [][]graph.Label{l.XLabels, l.YLabels, l.RightLabels} {
			most = max(most, len(labels))
			for _, x := range labels {
				if len(x.Text) > 255 || strings.ToValidUTF8(x.Text, "") != x.Text {
					t.Fatalf("%s: a label of %d bytes: %.20q", name, len(x.Text), x.Text)
				}
			}
		}
		if most != 4096 {
			t.Errorf("%s: %d labels on an axis, want 4096", name, most)
		}
	}
}

// TestLabelsDoNotTouch: with a family of its own, labels of the x axis have a blank between them.
// Of rrdtool's font all are drawn, as rrdtool does.
func TestLabelsDoNotTouch(t *testing.T) {
	for font, want := range map[string]int{"": 16, "--font=AXIS:20": 16, "--font=AXIS:20:Helvetica": 4, "--font=AXIS:8:Courier": 6} {
		l, _, err := laidOut(t, font+" --width=300 --x-grid=MINUTE:1:MINUTE:1:MINUTE:1:0:%H:%M LINE:5#ff0000")
		if err != nil {
			t.Fatal(err)
		}
		if len(l.XLabels) != want {
			t.Errorf("%q: %d labels, want %d: %v", font, len(l.XLabels), want, l.XLabels)
		}
	}
}

// TestStyleOfFamily: words behind a family make it bold or italic, and are no part of its name.
func TestStyleOfFamily(t *testing.T) {
	o := graph.NewOptions(time.Unix(begin, 0))
	if err := o.Set("font", "TITLE:14:Times New Roman Bold Italic"); err != nil {
		t.Fatal(err)
	}
	want := canvas.Font{Size: 14, Family: "Times New Roman", Bold: true, Italic: true}
	if got := o.Fonts[graph.Title]; got != want {
		t.Errorf("the font is %+v, want %+v", got, want)
	}
}
