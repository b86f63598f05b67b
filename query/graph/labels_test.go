package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/graph"
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
