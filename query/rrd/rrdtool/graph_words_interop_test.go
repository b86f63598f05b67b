package rrdtool_test

import (
	"html"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// A word is where a word stands in a page.
type word struct {
	text   string
	middle [2]float64
}

var boxed = regexp.MustCompile(`<word xMin="(\S+)" yMin="(\S+)" xMax="(\S+)" yMax="(\S+)">(.*)</word>`)

// family is a font other than rrdtool's own, whose letters may be of other widths.
var family = regexp.MustCompile(`^[A-Z]+:[0-9.]+:.`)

// words reads the words of a PDF.
func words(t *testing.T, name string) (ws []word) {
	t.Helper()
	out, err := exec.Command("pdftotext", "-bbox", name, "-").Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, m := range boxed.FindAllStringSubmatch(string(out), -1) {
		var at [4]float64
		for i := range at {
			if at[i], err = strconv.ParseFloat(m[1+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		ws = append(ws, word{html.UnescapeString(m[5]), [2]float64{(at[0] + at[2]) / 2, (at[1] + at[3]) / 2}})
	}
	return ws
}

// TestWordsAsOriginal draws the graphs of programs as PDF: both show the same words, each less than
// a pixel from where it stands in the other.
func TestWordsAsOriginal(t *testing.T) {
	rrdtooltest.Need(t, "pdftotext")
	o := newOriginal(t)
	all, err := filepath.Glob("testdata/graphs/*.txt")
	if err != nil || len(all) < 10 {
		t.Fatalf("%d programs: %v", len(all), err)
	}
	compared, every := 0, 3
	if seedtest.More() {
		every = 1
	}
	for k, file := range all {
		graphs := programGraphs(t, file)
		theirs, mine := t.TempDir(), t.TempDir()
		me := &rondo{store: newMemory(), now: time.Now(), loc: berlin(t)}
		for _, args := range programSeries(graphs) {
			if want, got := o.run(theirs, args), me.run(args); want.Exit != 0 || got.Exit != 0 {
				t.Fatalf("%s: %v, %v", args[:2], want, got)
			}
		}
		for i, g := range graphs {
			if (i+k)%every > 0 || slices.Contains(g.args, "PRINT:maxping:MAX:%le") || slices.ContainsFunc(g.args, family.MatchString) {
				continue // the second draws nothing
			}
			args := append(append([]string{"graph", "out.pdf", "--disable-rrdtool-tag"}, g.args...), "--imgformat", "PDF", "--zoom", "1")
			if want, got := o.run(theirs, args), me.draw(files(mine), args); want.Exit != 0 || got.Exit != 0 {
				t.Fatalf("%s: %v, %v", g.name, want, got)
			}
			compared += compareWords(t, g.name, words(t, filepath.Join(theirs, "out.pdf")), words(t, filepath.Join(mine, "out.pdf")))
		}
	}
	if compared < 100 {
		t.Errorf("%d words", compared)
	}
	t.Logf("%d words compared", compared)
}

// compareWords wants each word of one page in the other.
func compareWords(t *testing.T, name string, theirs, mine []word) int {
	t.Helper()
	rest := slices.Clone(mine)
	for _, w := range theirs {
		i := slices.IndexFunc(rest, func(x word) bool {
			return x.text == w.text && math.Abs(x.middle[0]-w.middle[0]) < 1 && math.Abs(x.middle[1]-w.middle[1]) < 1
		})
		if i < 0 {
			t.Errorf("%s: rrdtool's word %v stands elsewhere in\n%v", name, w, rest)
			return len(theirs)
		}
		rest = slices.Delete(rest, i, i+1)
	}
	if len(rest) > 0 {
		t.Errorf("%s: words of rondo's only: %v", name, rest)
	}
	return len(theirs)
}
