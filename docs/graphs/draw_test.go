// Package graphs draws the graphs of this folder: each by rrdtool, on the left, and by rondo.
//
//	go test ./docs/graphs -draw      draws the pictures of this folder anew
//	go test ./docs/graphs -keep DIR  leaves the data and the pictures, in every format, in DIR
package graphs

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/localcluster"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

var (
	drawAnew = flag.Bool("draw", false, "draw the pictures of this folder anew")
	keep     = flag.String("keep", "", "`folder` in which the data and the pictures stay")
)

// TestSizes: the graphs of this folder are as large as rrdtool's.
func TestSizes(t *testing.T) {
	rrdtool := rrdtooltest.RRDtool(t)
	dir := t.TempDir()
	rondo, err := localcluster.BuildRondo(dir)
	check(t, err)
	formats := []string{"png"}
	if *keep != "" {
		dir, err = filepath.Abs(*keep)
		check(t, err)
		formats = append(formats, "svg", "pdf", "eps")
	}
	data(t, rrdtool, dir)
	for _, g := range graphs {
		args := strings.Split(strings.TrimSpace(g.args), "\n")
		for _, f := range formats {
			common := append([]string{"-a", strings.ToUpper(f)}, args...)
			run(t, dir, rrdtool, append([]string{"graph", g.name + "-rrdtool." + f}, common...)...)
			run(t, dir, rondo, append([]string{"rrdtool", "graph", g.name + "-rondo." + f}, common...)...)
		}
		theirs, ours := picture(t, filepath.Join(dir, g.name+"-rrdtool.png")), picture(t, filepath.Join(dir, g.name+"-rondo.png"))
		if theirs.Bounds() != ours.Bounds() {
			t.Errorf("%s: rondo's is %v, rrdtool's is %v", g.name, ours.Bounds(), theirs.Bounds())
		}
		if *drawAnew {
			beside(t, g.name+".png", theirs, ours)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TZ=Europe/Berlin", "LC_ALL=C")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, errs.String())
	}
}

const (
	hour = 3600
	day  = 24 * hour
	end  = 1711360800 // 25 March 2024, 11:00 in Berlin
)

// data makes the series: of a day by minutes, of a year by hours, and of days with archives that
// predict. All of it is the same each time.
func data(t *testing.T, rrdtool, dir string) {
	seed := uint32(1)
	noise := func() float64 { // from -1 to 1
		seed = seed*1664525 + 1013904223
		return float64(seed>>8)/(1<<23) - 1
	}
	wave := func(t, period int64, shift float64) float64 {
		return math.Sin(2*math.Pi*(float64(t%period)/float64(period)) + shift)
	}
	sample := func(t int64) []float64 {
		load := 0.55 - 0.4*wave(t, day, 1.3) + 0.08*noise() + 0.1*wave(t, 365*day, 0)
		load = max(0.02, load)
		if t > end-30*hour && t < end-27*hour { // nobody knows why
			load += 1.2
		}
		in := 2e6 * (load + 0.3*max(0, wave(t, 7*hour, 2))) * (1 + 0.2*noise())
		return []float64{
			60 * load * (1 + 0.1*noise()),              // user
			18 * load * (1 + 0.2*noise()),              // system
			4 + 3*noise(),                              // wait
			max(0, in), max(0, in*0.4*(1+0.5*noise())), // in, out
			12 + 9*wave(t, 365*day, -1.9) - 4*wave(t, day, 0.8) + noise(), // temperature
			math.Pow(10, 2.5+1.5*wave(t, 9*hour, 0)+0.3*noise()),          // requests
		}
	}
	file := func(name string, first, step int64, archives ...string) {
		args := []string{"create", name, "--start", fmt.Sprint(first - 1), "--step", fmt.Sprint(step)}
		for _, ds := range []string{"user", "system", "wait", "in", "out", "temp", "requests"} {
			args = append(args, fmt.Sprintf("DS:%s:GAUGE:%d:U:U", ds, 2*step))
		}
		run(t, dir, rrdtool, append(args, archives...)...)
		var updates []string
		for at := first; at <= end; at += step {
			if at > end-9*hour && at < end-9*hour+1200 { // nobody was there
				continue
			}
			var line strings.Builder
			line.WriteString(fmt.Sprint(at))
			for _, v := range sample(at) {
				line.WriteString(fmt.Sprintf(":%.4f", v))
			}
			if updates = append(updates, line.String()); len(updates) == 500 || at+step > end {
				run(t, dir, rrdtool, append([]string{"update", name}, updates...)...)
				updates = nil
			}
		}
	}
	for _, name := range []string{"day.rrd", "year.rrd", "hw.rrd"} {
		_ = os.Remove(filepath.Join(dir, name)) // of the time before
	}
	file("day.rrd", end-2*day, 60, "RRA:AVERAGE:0.5:1:3000", "RRA:MAX:0.5:5:600")
	file("year.rrd", end-370*day, hour, "RRA:AVERAGE:0.5:1:9000", "RRA:MIN:0.5:24:400", "RRA:MAX:0.5:24:400")
	file("hw.rrd", end-8*day, 600, "RRA:AVERAGE:0.5:1:1500",
		"RRA:HWPREDICT:1500:0.02:0.001:144:3", "RRA:SEASONAL:144:0.2:2", "RRA:DEVSEASONAL:144:0.2:2", "RRA:DEVPREDICT:1500:4", "RRA:FAILURES:1500:3:5:4")
}

func picture(t *testing.T, name string) image.Image {
	t.Helper()
	f, err := os.Open(name)
	check(t, err)
	defer func() { _ = f.Close() }() // only read
	img, err := png.Decode(f)
	check(t, err)
	return img
}

// beside puts pictures side by side.
func beside(t *testing.T, to string, pictures ...image.Image) {
	const gap = 12
	size := image.Pt(gap, 0)
	for _, img := range pictures {
		size.X += img.Bounds().Dx() + gap
		size.Y = max(size.Y, img.Bounds().Dy()+2*gap)
	}
	all := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(all, all.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	x := gap
	for _, img := range pictures {
		draw.Draw(all, img.Bounds().Add(image.Pt(x, gap)), img, image.Point{}, draw.Over)
		x += img.Bounds().Dx() + gap
	}
	f, err := os.Create(to)
	check(t, err)
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	check(t, encoder.Encode(f, all))
	check(t, f.Close())
}
