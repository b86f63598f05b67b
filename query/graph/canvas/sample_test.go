package canvas

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// sample draws a bit of everything.
func sample(c Canvas) {
	black, grey := Color{A: 255}, Color{R: 242, G: 242, B: 242, A: 255}
	c.Fill(grey, []Point{{0, 0}, {481, 0}, {481, 220}, {0, 220}})
	c.Fill(rgba(255, 255, 255, 255), []Point{{51, 30}, {451, 30}, {451, 130}, {51, 130}})
	var line, area []Point
	for i := range 400 {
		y := 80 - 40*math.Sin(float64(i)/30) - 8*math.Sin(float64(i)*1.7)
		line = append(line, Point{51 + float64(i), y})
	}
	area = append(append(append(area, Point{51, 130}), line...), Point{450, 130})
	c.Clip(Rect{Point{51, 29}, Point{451, 131}}, func() {
		c.Group("a1", "an <area> & more", func() {
			c.Fill(rgba(0, 204, 0, 128), area)
			c.Stroke(Stroke{Width: 1, Color: rgba(0, 0, 255, 255), Cap: RoundCap, Join: RoundJoin}, line)
		})
		var steps []Point
		for i := range 200 {
			y := math.Floor(90-30*math.Cos(float64(i)/20)) + 0.5
			steps = append(steps, Point{51.5 + 2*float64(i), y}, Point{53.5 + 2*float64(i), y})
		}
		c.Stroke(Stroke{Width: 2, Color: rgba(255, 0, 0, 200), Cap: RoundCap, Join: RoundJoin}, steps)
		c.Gradient([]Point{{300, 60}, {360, 60}, {360, 120}, {300, 120}}, 60, rgba(255, 0, 0, 255), 110, rgba(255, 255, 0, 60))
	})
	for i := range 9 {
		x := 51.5 + 50*float64(i)
		c.Stroke(Stroke{Width: 0.4, Color: rgba(143, 143, 143, 191), Dash: []float64{1, 1}, Cap: RoundCap}, []Point{{x, 132}, {x, 29}})
		y := 30.5 + 12*float64(i)
		c.Stroke(Stroke{Width: 0.6, Color: rgba(222, 79, 79, 153), Dash: []float64{1, 1}, Cap: RoundCap}, []Point{{49, y}, {453, y}})
	}
	c.Stroke(Stroke{Width: 1, Color: black, Dash: []float64{10, 5}}, []Point{{60, 50}, {440, 120}})
	c.Stroke(Stroke{Width: 6, Color: rgba(0, 0, 0, 90), Join: MiterJoin}, []Point{{380, 60}, {400, 110}, {420, 60}})
	c.Stroke(Stroke{Width: 6, Color: rgba(128, 0, 128, 255), Join: RoundJoin, Cap: RoundCap}, []Point{{200, 60}, {220, 110}, {230, 60}})
	c.Text(Text{At: Point{240, 4}, Align: Center, Font: Font{Size: 9}, Color: black, Runs: Plain("Title of the Thing: gjpqy ÄÖÜ µ")})
	c.Text(Text{At: Point{10, 80}, Align: Center, VAlign: Top, Angle: 90, Font: Font{Size: 8}, Color: black, Runs: Plain("bytes per second")})
	c.Text(Text{At: Point{477, 5}, Angle: -90, Font: Font{Size: 5.5}, Color: rgba(0, 0, 0, 76), Runs: Plain("RONDO / A STORE")})
	for i, s := range []float64{5.5, 7, 8, 9, 10, 12} {
		c.Text(Text{At: Point{43, 30 + 16*float64(i)}, Align: Right, VAlign: Middle, Font: Font{Size: s}, Color: black, Runs: Plain("20.5 k")})
	}
	c.Group("legend", "", func() { sampleLegend(c) })
}

func sampleLegend(c Canvas) {
	black := Color{A: 255}
	c.Text(Text{At: Point{17, 153}, VAlign: Bottom, Font: Font{Size: 8}, Color: black, Runs: Plain("  Hello World quick brown  gjpqy 0123456789 ABCDEFG &<>\"'")})
	red := rgba(200, 0, 0, 255)
	c.Text(Text{At: Point{17, 168}, VAlign: Bottom, Font: Font{Size: 8}, Color: black, Runs: []Run{
		{Text: "plain "},
		{Text: "bold ", Bold: true},
		{Text: "italic ", Italic: true},
		{Text: "both ", Bold: true, Italic: true},
		{Text: "red ", Color: &red},
		{Text: "under", Underline: true},
		{Text: " "},
		{Text: "strike", Strike: true},
		{Text: " big", Size: 12},
		{Text: "\tπ→≤∞ Жя"},
	}})
	c.Text(Text{At: Point{17, 180}, VAlign: Bottom, Font: Font{Size: 7}, Color: black, Runs: Plain("Wed 00:00   maximum aeosgzBKRS%$@#8936 {[()]} e\u0301 日本 \x01\xff")})
	c.Text(Text{At: Point{17, 190}, VAlign: Bottom, Font: Font{Size: 6}, Color: black, Runs: Plain("Six points: the quick brown fox jumps over the lazy dog")})
	c.Text(Text{At: Point{17, 206}, VAlign: Bottom, Font: Font{Size: 10, Bold: true}, Color: black, Runs: Plain("Ten bold: the quick brown fox jumps")})
}

// keep writes a picture to the folder that the environment names as RONDO_PICTURES, for eyes.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if dir := os.Getenv("RONDO_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// encoded draws and encodes a picture of 481x220 pixels before zoom.
func encoded(t *testing.T, f Format, zoom float64, draw func(Canvas)) []byte {
	t.Helper()
	c, err := New(f, 481, 220, zoom, Options{})
	if err != nil {
		t.Fatal(err)
	}
	draw(c)
	var out bytes.Buffer
	if err := c.Encode(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func rgba(r, g, b, a uint8) Color { return Color{R: r, G: g, B: b, A: a} }
