package canvas

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"
)

// decoded returns what a PNG shows.
func decoded(t *testing.T, data []byte) image.Image {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// at returns a pixel of a picture.
func at(m image.Image, x, y int) Color { return color.NRGBAModel.Convert(m.At(x, y)).(Color) }

func TestRasterSample(t *testing.T) {
	for _, zoom := range []float64{1, 2} {
		data := encoded(t, PNG, zoom, sample)
		keep(t, fmt.Sprintf("sample%g.png", zoom), data)
		if got, want := decoded(t, data).Bounds().Size(), image.Pt(int(481*zoom), int(220*zoom)); got != want {
			t.Errorf("zoom %g: the picture is %v, want %v", zoom, got, want)
		}
	}
}

// TestCoverage compares what a shape covers, added up, with its area.
func TestCoverage(t *testing.T) {
	black := Color{A: 255}
	stroke := func(s Stroke, p ...Point) func(Canvas) {
		s.Color = black
		return func(c Canvas) { c.Stroke(s, p) }
	}
	slope := []Point{{10, 10}, {60, 47}}
	length := math.Hypot(50, 37)
	for _, tt := range []struct {
		name string
		draw func(Canvas)
		area float64
	}{
		{"rectangle", func(c Canvas) { c.Fill(black, []Point{{10.25, 10.5}, {20.5, 10.5}, {20.5, 31}, {10.25, 31}}) }, 10.25 * 20.5},
		{"triangle", func(c Canvas) { c.Fill(black, []Point{{10, 10}, {50, 13}, {25, 60}}) }, (40*50 - 15*3) / 2.0},
		{"twice around", func(c Canvas) {
			c.Fill(black, []Point{{10, 10}, {20, 10}, {20, 20}, {10, 20}}, []Point{{10, 10}, {20, 10}, {20, 20}, {10, 20}})
		}, 100},
		{"hole", func(c Canvas) {
			c.Fill(black, []Point{{10, 10}, {30, 10}, {30, 30}, {10, 30}}, []Point{{15, 15}, {15, 25}, {25, 25}, {25, 15}})
		}, 300},
		{"sloping line", stroke(Stroke{Width: 3}, slope...), 3 * length},
		{"sloping line, round ends", stroke(Stroke{Width: 3, Cap: RoundCap}, slope...), 3*length + math.Pi*9/4},
		{"level line, round ends", stroke(Stroke{Width: 5, Cap: RoundCap}, Point{10, 10.5}, Point{40, 10.5}), 150 + math.Pi*25/4},
		{"hairline", stroke(Stroke{Width: 0.4}, Point{10, 10.5}, Point{40, 10.5}), 12},
		{"corner, mitred", stroke(Stroke{Width: 4}, Point{10, 10}, Point{30, 10}, Point{30, 30}), 160},
		{"corner, round", stroke(Stroke{Width: 4, Join: RoundJoin}, Point{10, 10}, Point{30, 10}, Point{30, 30}), 156 + math.Pi},
		{"sloping corner, mitred", stroke(Stroke{Width: 4}, Point{30, 10}, Point{50, 30}, Point{30, 50}), 4 * 2 * math.Sqrt(800)},
		{"thin corner, round", stroke(Stroke{Width: 1, Join: RoundJoin, Cap: RoundCap}, Point{10.5, 10.5}, Point{11.5, 10.5}, Point{11.5, 11.5}), 1.75 + 5*math.Pi/16},
		{"thin corner, mitred", stroke(Stroke{Width: 1}, Point{10.5, 10.5}, Point{11.5, 10.5}, Point{11.5, 11.5}), 2},
		{"closed", stroke(Stroke{Width: 2}, Point{10, 10}, Point{30, 10}, Point{30, 30}, Point{10, 30}, Point{10, 10}), 160},
		{"there and back", stroke(Stroke{Width: 2}, Point{10, 10}, Point{40, 17}, Point{10, 10}), 2 * math.Hypot(30, 7)},
		{"dashes", stroke(Stroke{Width: 2, Dash: []float64{3, 2}}, Point{10, 10}, Point{40, 10}), 36},
		{"dashes that begin later", stroke(Stroke{Width: 2, Dash: []float64{3, 2}, DashOffset: 4}, Point{10, 10}, Point{40, 10}), 36},
		{"dashes of odd number", stroke(Stroke{Width: 2, Dash: []float64{3}}, Point{10, 10}, Point{40, 10}), 30},
		{"a dash that begins where the line ends", stroke(Stroke{Width: 5, Dash: []float64{12, 8}, Cap: RoundCap}, Point{10, 10.5}, Point{30, 10.5}), 5*12 + 2*math.Pi*25/4},
		{"sloping dashes", stroke(Stroke{Width: 2, Dash: []float64{length / 5, length / 10}}, slope...), 2 * length * 0.7},
		{"dashes of nothing", stroke(Stroke{Width: 2, Dash: []float64{0, 0}}, Point{10, 10}, Point{40, 10}), 60},
		{"dashes without number", stroke(Stroke{Width: 2, Dash: []float64{math.NaN(), -1}}, Point{10, 10}, Point{40, 10}), 60},
		{"not a number", stroke(Stroke{Width: 2}, Point{10, 10}, Point{math.NaN(), 5}, Point{40, 10}), 60},
		{"clip", func(c Canvas) {
			c.Clip(Rect{Point{10, 10}, Point{30, 30}}, func() {
				c.Clip(Rect{Point{20, 0}, Point{60, 60}}, func() {
					c.Fill(black, []Point{{math.Inf(-1), -1e300}, {1e300, -1e300}, {1e300, 1e300}, {-1e300, 1e300}})
				})
			})
			c.Fill(black, []Point{{50, 50}, {60, 50}, {60, 60}, {50, 60}})
		}, 300},
	} {
		m := decoded(t, encoded(t, PNG, 1, tt.draw))
		sum := 0.0
		for y := range 220 {
			for x := range 481 {
				sum += float64(at(m, x, y).A) / 255
			}
		}
		if math.Abs(sum-tt.area) > 0.01*tt.area+0.02 {
			t.Errorf("%s covers %.2f pixels, want %.2f", tt.name, sum, tt.area)
		}
	}
}

func TestBlend(t *testing.T) {
	m := decoded(t, encoded(t, PNG, 1, func(c Canvas) {
		square := []Point{{0, 0}, {10, 0}, {10, 10}, {0, 10}}
		c.Fill(rgba(255, 255, 255, 255), square)
		c.Fill(rgba(0, 204, 0, 128), square)
		c.Gradient([]Point{{20, 0}, {30, 0}, {30, 100}, {20, 100}}, 75, rgba(0, 0, 200, 255), 25, rgba(200, 0, 0, 255))
	}))
	for _, tt := range []struct {
		x, y int
		want Color
	}{
		{5, 5, rgba(127, 229, 127, 255)},
		{15, 5, rgba(0, 0, 0, 0)},
		{25, 10, rgba(200, 0, 0, 255)},
		{25, 50, rgba(98, 0, 102, 255)},
		{25, 90, rgba(0, 0, 200, 255)},
	} {
		if got := at(m, tt.x, tt.y); got != tt.want {
			t.Errorf("the pixel at %d, %d is %v, want %v", tt.x, tt.y, got, tt.want)
		}
	}
}

// TestSharpText states that bars of letters are whole pixels: all of the dark columns and rows of
// an H are black.
func TestSharpText(t *testing.T) {
	for _, size := range []float64{7, 8, 9, 10, 12} {
		for _, angle := range []int{0, 90, -90} {
			m := decoded(t, encoded(t, PNG, 1, func(c Canvas) {
				c.Fill(rgba(255, 255, 255, 255), []Point{{0, 0}, {481, 0}, {481, 220}, {0, 220}})
				c.Text(Text{At: Point{100.3, 100.4}, Angle: angle, Font: Font{Size: size}, Color: rgba(0, 0, 0, 255), Runs: Plain("HHHH")})
			}))
			black, grey := 0, 0
			for y := range 220 {
				for x := range 481 {
					switch v := at(m, x, y).R; {
					case v < 16:
						black++
					case v < 240:
						grey++
					}
				}
			}
			if black < 40 || grey > 0 {
				t.Errorf("%g points, %d degrees: %d pixels are black, %d grey", size, angle, black, grey)
			}
		}
	}
}

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		w, h, zoom float64
		bad        bool
	}{
		{1, 1, 1, false},
		{10, 10, 0.5, false},
		{0, 10, 1, true},
		{10, 10, 0, true},
		{-10, -10, -1, true},
		{-10, 10, 1, true},
		{math.NaN(), 10, 1, true},
		{math.Inf(1), 10, 1, true},
		{100_000, 100_000, 1, true},
		{32768, 1, 1, true},
		{5000, 5000, 1, true},
		{1, 1, 0.5, true},
		{1e300, 10, 1e-300, true},
		{1e300, 1e300, 1e300, true},
	} {
		for _, f := range []Format{PNG, SVG, PDF, EPS} {
			if _, err := New(f, tt.w, tt.h, tt.zoom, Options{}); (err != nil) != tt.bad || err != nil && !errors.Is(err, ErrSize) {
				t.Errorf("New(%v, %g, %g, %g): %v", f, tt.w, tt.h, tt.zoom, err)
			}
		}
	}
}

// TestShadesOfText states that text of two colours leaves room in a palette.
func TestShadesOfText(t *testing.T) {
	m := decoded(t, encoded(t, PNG, 1, func(c Canvas) {
		for i := range 10 {
			c.Text(Text{
				At: Point{20, float64(20 * i)}, Font: Font{Size: float64(7 + i/2)},
				Color: rgba(uint8(i%2*200), 0, 0, 255), Runs: Plain("aeosgzBKRS%$@#8936 {[()]} maximum average"),
			})
		}
	}))
	if p, ok := m.(*image.Paletted); !ok || len(p.Palette) > 2*glyphShades+1 {
		t.Errorf("the picture is an %T, want a palette of at most %d colours", m, 2*glyphShades+1)
	}
}

// TestKindsOfPixels makes pictures of few colours, of many, and of many with alpha.
func TestKindsOfPixels(t *testing.T) {
	for _, tt := range []struct {
		name        string
		back, front Color
	}{
		{"few", rgba(255, 255, 255, 255), rgba(255, 255, 255, 255)},
		{"many", rgba(0, 0, 0, 255), rgba(255, 255, 255, 255)},
		{"many with alpha", Color{}, rgba(255, 0, 0, 255)},
	} {
		c := newRaster(64, 64, 1, Options{})
		for i := range 64 {
			y := float64(i)
			c.Gradient([]Point{{0, y}, {64, y}, {64, y + 1}, {0, y + 1}}, 0, tt.back, 64, tt.front)
			c.Fill(rgba(0, 255, 0, uint8(y)*2), []Point{{0, y}, {y, y}, {y, y + 1}, {0, y + 1}})
		}
		var out bytes.Buffer
		if err := c.encode(&out); err != nil {
			t.Fatal(err)
		}
		m := decoded(t, out.Bytes())
		for i := 0; i < len(c.pix); i += 4 {
			want := pixel{c.pix[i], c.pix[i+1], c.pix[i+2], c.pix[i+3]}.straight()
			if got := at(m, i/4%64, i/4/64); got != want {
				t.Fatalf("%s: pixel %d, %d is %v, want %v", tt.name, i/4%64, i/4/64, got, want)
			}
		}
	}
}
