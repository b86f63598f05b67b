package rrdtool_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestPicturesAsOriginal draws random graphs with rrdtool and Run, and compares what is seen: how
// high each element reaches in each column, and where the texts around the graph stand.
func TestPicturesAsOriginal(t *testing.T) {
	r := seedtest.Rand(t)
	o := newOriginal(t)
	n, drawn := seedtest.Programs(12, 5), 0
	reached := map[string]int{}
	var g *pictureGenerator
	var me *rondo
	folder, mine := "", ""
	for i := range n {
		if i%20 == 0 {
			g = &pictureGenerator{graphGenerator: graphGenerator{xportGenerator: xportGenerator{r: rand.New(rand.NewPCG(r.Uint64(), 6))}, reached: reached}}
			folder, mine = filepath.Join(o.dir, fmt.Sprint(i)), t.TempDir()
			if err := os.Mkdir(folder, 0o777); err != nil {
				t.Fatal(err)
			}
			me = &rondo{store: newMemory(), now: time.Now(), loc: berlin(t)}
			for _, args := range g.files() {
				if want, got := o.run(folder, args), me.run(args); want.Exit != 0 || got.Exit != 0 {
					t.Fatalf("%s: %v, %v", quoted(args), want, got)
				}
			}
		}
		args := g.picture()
		me.now = time.Now()
		want, got := o.runFor(3*time.Second, folder, args), me.draw(files(mine), args)
		if want.Exit != 0 || got.Exit != 0 {
			continue
		}
		if d := cmp.Diff(numbers(want), numbers(got)); d != "" {
			t.Fatalf("program %d (-rrdtool +rondo):\ncd %s\nrrdtool %s\n%s", i, folder, quoted(args), d)
		}
		a, b := newPicture(t, filepath.Join(folder, "o.png"), want.Stdout, g.zoom), newPicture(t, filepath.Join(mine, "o.png"), want.Stdout, g.zoom)
		if a.Bounds() != b.Bounds() {
			t.Fatalf("program %d: rrdtool %s\nsizes differ: %v and %v", i, quoted(args), a.Bounds(), b.Bounds())
		}
		drawn++
		for _, c := range g.colors {
			if c.dashed {
				a.dashes, b.dashes = append(a.dashes, c.NRGBA), append(b.dashes, c.NRGBA)
			}
		}
		for _, c := range g.colors {
			compareHeights(t, a, b, c)
		}
		if g.zoom == 1 {
			compareTexts(t, a, b, labelsDefined(args, want.Stdout))
		}
		if t.Failed() {
			t.Fatalf("program %d:\ncd %s\nrrdtool %s\n%s(rondo's picture is %s)", i, folder, quoted(args), want.Stdout, keep(t, folder, mine))
		}
	}
	t.Logf("%d pictures compared", drawn)
	for _, what := range slices.Sorted(maps.Keys(reached)) {
		t.Logf("%6d %s", reached[what], what)
	}
}

// keep copies both pictures to where they outlive the test, a.png and b.png.
func keep(t *testing.T, theirs, mine string) string {
	dir := os.Getenv("RONDO_KEEP")
	if dir == "" {
		return "lost; RONDO_KEEP=FOLDER keeps it"
	}
	for name, from := range map[string]string{"a.png": theirs, "b.png": mine} {
		b, err := os.ReadFile(filepath.Join(from, "o.png"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "b.png")
}

// A picture is a PNG, and where its graph stands.
type picture struct {
	image.Image
	left, top, width, height int
	dashes                   []color.NRGBA // colours of dashed lines
}

func newPicture(t *testing.T, name, stdout string, zoom float64) *picture {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	p := &picture{Image: img}
	for key, to := range map[string]*int{"graph_left": &p.left, "graph_top": &p.top, "graph_width": &p.width, "graph_height": &p.height} {
		m := regexp.MustCompile(key + ` = (\d+)`).FindStringSubmatch(stdout)
		if m == nil {
			t.Fatalf("no %s in %s", key, stdout)
		}
		n, _ := strconv.Atoi(m[1])
		*to = int(float64(n) * zoom)
	}
	return p
}

// seen is how far a pixel may be from a colour that is seen in it, in the sum of all three parts. A
// pixel that two elements share is seen in one picture and not in the other, unless it is looked at
// more closely or more loosely.
const (
	seen        = 130
	seenClosely = 90
	seenLoosely = 170
)

// differs is how far a pixel is from a colour.
func (p *picture) differs(x, y int, c color.NRGBA) (sum int) {
	q := color.NRGBAModel.Convert(p.At(x, y)).(color.NRGBA)
	for _, v := range []int{int(q.R) - int(c.R), int(q.G) - int(c.G), int(q.B) - int(c.B)} {
		sum += max(v, -v)
	}
	return sum
}

// span is from which row to which a colour is seen in a column of the graph; -1 where it is not.
func (p *picture) span(x int, c color.NRGBA, seen int) (from, to int) {
	from, to = -1, -1
	for y := p.top; y < p.top+p.height; y++ {
		if p.differs(x, y, c) > seen {
			continue
		}
		if from < 0 {
			from = y
		}
		to = y
	}
	return from, to
}
