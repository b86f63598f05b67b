package rrdtool_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPicturesAsOriginal draws random graphs with rrdtool and Run, and compares what is seen: how
// high each element reaches in each column, and where the texts around the graph stand.
func TestPicturesAsOriginal(t *testing.T) {
	r, _ := newRand(t)
	o := newOriginal(t)
	n, drawn := programs(100)/5, 0
	var g *pictureGenerator
	var me *rondo
	folder, mine := "", ""
	for i := range n {
		if i%20 == 0 {
			g = &pictureGenerator{graphGenerator{xportGenerator: xportGenerator{r: rand.New(rand.NewPCG(r.Uint64(), 6))}, reached: map[string]int{}}, nil}
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
		a, b := newPicture(t, filepath.Join(folder, "o.png"), want.Stdout), newPicture(t, filepath.Join(mine, "o.png"), want.Stdout)
		if a.Bounds() != b.Bounds() {
			t.Fatalf("program %d: rrdtool %s\nsizes differ: %v and %v", i, quoted(args), a.Bounds(), b.Bounds())
		}
		drawn++
		for _, c := range g.colors {
			compareHeights(t, a, b, c)
		}
		compareTexts(t, a, b)
		if t.Failed() {
			t.Fatalf("program %d:\ncd %s\nrrdtool %s\n%s(rondo's picture is %s)", i, folder, quoted(args), want.Stdout, keep(t, folder, mine))
		}
	}
	t.Logf("%d pictures compared", drawn)
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

// A pictureGenerator makes graphs whose elements can be told apart by their colours.
type pictureGenerator struct {
	graphGenerator
	colors []color.NRGBA
}

var pictureColors = []string{"ff0000", "00c000", "0000ff", "ff8000", "00b0b0", "c000c0"}

func (g *pictureGenerator) picture() []string {
	g.vars, g.numbers, g.margin, g.colors = nil, nil, 0, nil
	g.to = g.begin + g.r.Int64N(g.end-g.begin+200)
	g.start = g.to - 20 - g.r.Int64N([]int64{100, 1000, 10000, 100000, 10000000}[g.r.IntN(5)])
	args := []string{"graphv", "o.png", "-s", fmt.Sprint(g.start), "-e", fmt.Sprint(g.to), "-c", "GRID#00000000", "-c", "MGRID#00000000", "-c", "ARROW#00000000", "--disable-rrdtool-tag"}
	options := [][]string{
		{"-w", strconv.Itoa(60 + g.r.IntN(500))},
		{"-h", strconv.Itoa(30 + g.r.IntN(250))},
		{"-u", g.pick("100", "5", "0", "1e6")},
		{"-l", g.pick("0", "-10", "1e-3")},
		{"--rigid"},
		{"-A"},
		{"-J"},
		{"-M"},
		{"-Y"},
		{"-o"},
		{"-b", "1024"},
		{"-X", g.pick("0", "3", "-3", "6")},
		{"-L", g.pick("8", "10")},
		{"--units=si"},
		{"--right-axis", g.pick("1:0", "0.001:5", "-2:10")},
		{"--right-axis-format", "%6.1le"},
		{"--left-axis-format", "%6.1le"},
		{"--left-axis-formatter", g.pick("timestamp", "duration")},
		{"-t", "a title"},
		{"-v", "bits"},
		{"--legend-position", g.pick("north", "south", "east", "west")},
		{"-n", g.pick("DEFAULT:10", "AXIS:8", "LEGEND:10", "AXIS:6")},
		{"--border", "0"},
		{"-E"},
		{"-D", "-w", "400", "-h", "200"},
		{"-S", "60"},
	}
	for range g.r.IntN(6) {
		args = append(args, options[g.r.IntN(len(options))]...)
	}
	args = append(args, g.data(1)...)
	for i := range 1 + g.r.IntN(4) {
		hex := pictureColors[i]
		n, _ := strconv.ParseUint(hex, 16, 32)
		g.colors = append(g.colors, color.NRGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 255})
		v := g.vars[g.r.IntN(len(g.vars))]
		switch g.r.IntN(6) {
		case 0, 1:
			args = append(args, "LINE"+g.pick("1", "2", "3")+":"+v+"#"+hex+g.pick("", ":text")+g.pick("", ":STACK"))
		case 2, 3, 4:
			args = append(args, "AREA:"+v+"#"+hex+g.pick("", ":text")+g.pick("", ":STACK"))
		default:
			args = append(args, g.pick("TICK:"+v+"#"+hex+":0.2", "VRULE:"+fmt.Sprint(g.start+(g.to-g.start)/3)+"#"+hex))
		}
	}
	if g.one(6) { // alone: it would hide where others end
		g.colors = []color.NRGBA{{G: 255, A: 255}}
		return append(args[:len(args)-1], "LINE:"+g.vars[0], "HRULE:"+g.pick("5", "100", "1e6")+"#00ff00:text")
	}
	return args
}

// data are lines that define what is drawn.
func (g *pictureGenerator) data(int) []string {
	var lines []string
	for _, line := range g.lines() {
		if !strings.HasPrefix(line, "XPORT") {
			lines = append(lines, line)
		}
	}
	return lines
}

// A picture is a PNG, and where its graph stands.
type picture struct {
	image.Image
	left, top, width, height int
}

func newPicture(t *testing.T, name, stdout string) *picture {
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
		*to, _ = strconv.Atoi(m[1])
	}
	return p
}

// span is from which row to which a colour is seen in a column of the graph; -1 where it is not.
func (p *picture) span(x int, c color.NRGBA) (from, to int) {
	from, to = -1, -1
	for y := p.top; y < p.top+p.height; y++ {
		q := color.NRGBAModel.Convert(p.At(x, y)).(color.NRGBA)
		d := 0
		for _, v := range []int{int(q.R) - int(c.R), int(q.G) - int(c.G), int(q.B) - int(c.B)} {
			d += max(v, -v)
		}
		if d > 130 {
			continue
		}
		if from < 0 {
			from = y
		}
		to = y
	}
	return from, to
}

// compareHeights compares where a colour is seen in every column of the graph. Half-covered pixels
// are seen in one picture and not in the other, so that a column may differ by one where its
// neighbours say so.
func compareHeights(t *testing.T, a, b *picture, c color.NRGBA) {
	t.Helper()
	for x := a.left + 1; x < a.left+a.width-1; x++ {
		from, to := a.span(x, c)
		from2, to2 := b.span(x, c)
		if near(from, from2) && near(to, to2) {
			continue
		}
		if from < 0 && to2-from2 <= 1 || from2 < 0 && to-from <= 1 { // a thin line between two rows
			continue
		}
		t.Errorf("column %d of colour %v: %d to %d in rrdtool's, %d to %d in rondo's", x-a.left, c, from, to, from2, to2)
		return
	}
}

func near(a, b int) bool { return a-b <= 1 && b-a <= 1 }

// compareTexts compares where the labels of both axes stand.
func compareTexts(t *testing.T, a, b *picture) {
	t.Helper()
	rows := func(p *picture) []bool {
		return p.ink(image.Rect(max(p.left-40, 18), p.top-8, p.left-5, p.top+p.height+5), false)
	}
	columns := func(p *picture) []bool {
		return p.ink(image.Rect(0, p.top+p.height+5, p.left+p.width+10, p.top+p.height+12), true)
	}
	compareInk(t, "labels of the y axis", rows(a), rows(b), 1)
	compareInk(t, "labels of the x axis", columns(a), columns(b), 2)
}

// compareInk wants to see something in both pictures at the same places, or some pixels beside.
// Letters are not shaped alike to the pixel.
func compareInk(t *testing.T, what string, a, b []bool, beside int) {
	t.Helper()
	for _, p := range [][2][]bool{{a, b}, {b, a}} {
		for i, dark := range p[0] {
			if dark && !slices.Contains(p[1][max(0, i-beside):min(len(p[1]), i+beside+1)], true) {
				t.Errorf("%s: place %d is dark in one picture only\nrrdtool %s\nrondo   %s", what, i, inkShown(a), inkShown(b))
				return
			}
		}
	}
}

func inkShown(ink []bool) string {
	var b strings.Builder
	for _, dark := range ink {
		b.WriteByte(map[bool]byte{false: '.', true: '#'}[dark])
	}
	return b.String()
}

// ink tells which rows, or columns, of a region have dark pixels.
func (p *picture) ink(r image.Rectangle, columns bool) []bool {
	r = r.Intersect(p.Bounds())
	first, last := r.Min.Y, r.Max.Y
	if columns {
		first, last = r.Min.X, r.Max.X
	}
	var ink []bool
	for i := first; i < last; i++ {
		ink = append(ink, p.dark(r, i, columns))
	}
	return ink
}

func (p *picture) dark(r image.Rectangle, i int, column bool) bool {
	if column {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			if color.GrayModel.Convert(p.At(i, y)).(color.Gray).Y < 150 {
				return true
			}
		}
		return false
	}
	for x := r.Min.X; x < r.Max.X; x++ {
		if color.GrayModel.Convert(p.At(x, i)).(color.Gray).Y < 150 {
			return true
		}
	}
	return false
}
