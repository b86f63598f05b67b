package canvas

import (
	"io"
	"math"
	"testing"
)

// typical draws a graph of 400x100 pixels with three series, grid, axes and legend; slope draws the
// series from point to point.
func typical(c Canvas, slope bool) {
	black := rgba(0, 0, 0, 255)
	box := func(x0, y0, x1, y1 float64) []Point { return []Point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}} }
	c.Fill(rgba(242, 242, 242, 255), box(0, 0, 481, 169))
	c.Fill(rgba(255, 255, 255, 255), box(51, 15, 451, 115))
	c.Clip(Rect{Point{51, 14}, Point{451, 116}}, func() { typicalLines(c, slope) })
	axis := func(s Stroke, x0, y0, x1, y1 float64) { c.Stroke(s, []Point{{x0, y0}, {x1, y1}}) }
	minor := Stroke{Width: 0.4, Color: rgba(143, 143, 143, 191), Dash: []float64{1, 1}, Cap: RoundCap}
	major := Stroke{Width: 0.6, Color: rgba(222, 79, 79, 153), Dash: []float64{1, 1}, Cap: RoundCap}
	for i := range 24 {
		x := 51.5 + float64(i)*16
		axis(minor, x, 116, x, 14)
		if i%3 == 0 {
			axis(major, x, 118, x, 13)
			c.Text(Text{At: Point{x, 118}, Align: Center, Font: Font{Size: 7}, Color: black, Runs: Plain("12:00")})
		}
	}
	for i := range 11 {
		y := 15.5 + float64(i)*10
		axis(minor, 50, y, 452, y)
		if i%2 == 0 {
			axis(major, 49, y, 453, y)
			c.Text(Text{At: Point{44, y}, Align: Right, VAlign: Middle, Font: Font{Size: 7}, Color: black, Runs: Plain("20.0 k")})
		}
	}
	axis(Stroke{Width: 0.6, Color: rgba(31, 31, 31, 255)}, 47, 115.5, 455, 115.5)
	axis(Stroke{Width: 0.6, Color: rgba(31, 31, 31, 255)}, 51.5, 119, 51.5, 11)
	c.Fill(rgba(127, 31, 31, 255), []Point{{453, 112}, {453, 118}, {458, 115}})
	c.Fill(rgba(207, 207, 207, 255), []Point{{0, 169}, {2, 167}, {2, 2}, {479, 2}, {481, 0}, {0, 0}})
	c.Text(Text{At: Point{240, 12}, Align: Center, VAlign: Middle, Font: Font{Size: 9}, Color: black, Runs: Plain("A title")})
	c.Text(Text{At: Point{10, 65}, Align: Center, Angle: 90, Font: Font{Size: 8}, Color: black, Runs: Plain("bytes a second")})
	c.Text(Text{At: Point{477, 5}, Angle: -90, Font: Font{Size: 7}, Color: rgba(0, 0, 0, 76), Runs: Plain("RONDO")})
	for i := range 3 {
		y := 137 + 14*float64(i)
		c.Fill(rgba(0, 204, 0, 255), box(17, y-11.4, 25.4, y-3))
		c.Stroke(Stroke{Width: 1, Color: black}, []Point{{17.5, y - 11.5}, {25.5, y - 11.5}, {25.5, y - 3.5}, {17.5, y - 3.5}, {17.5, y - 11.5}})
		c.Text(Text{At: Point{15, y}, VAlign: Bottom, Font: Font{Size: 8}, Color: black, Runs: Plain("  eth0 received   max  102.4 k  avg  33.2 k  last  12.0 k")})
	}
}

func typicalLines(c Canvas, slope bool) {
	for s, col := range []Color{rgba(0, 204, 0, 255), rgba(0, 0, 255, 255), rgba(255, 0, 0, 255)} {
		var p []Point
		last := 0.0
		for i := range 400 {
			x := 51 + float64(i)
			y := 70 - 30*math.Sin(float64(i)/30+float64(s)) - 8*math.Sin(float64(i)*1.7)
			switch {
			case slope:
				p = append(p, Point{x, y})
			case s == 0: // area
				p = append(p, Point{x, math.Ceil(last)}, Point{x, math.Ceil(y)})
			default:
				y = math.Floor(y) + 0.5
				p = append(p, Point{x + 0.5, last}, Point{x + 0.5, y})
			}
			last = y
		}
		if s == 0 {
			c.Fill(col, append(append([]Point{{51, 115}}, p[1:]...), Point{450, 115}))
		} else {
			c.Stroke(Stroke{Width: 1, Color: col, Cap: RoundCap, Join: RoundJoin}, p[1:])
		}
	}
}

// BenchmarkDraw draws and encodes a typical graph.
func BenchmarkDraw(b *testing.B) {
	for _, f := range []Format{PNG, SVG, PDF, EPS} {
		for _, slope := range []bool{false, true} {
			kind := map[bool]string{false: "steps", true: "slope"}[slope]
			b.Run("format="+string(f)+"/lines="+kind, func(b *testing.B) {
				b.ReportAllocs()
				size := counter(0)
				for b.Loop() {
					c, err := New(f, 481, 169, 1, Options{})
					if err != nil {
						b.Fatal(err)
					}
					typical(c, slope)
					size = 0
					if err := c.Encode(&size); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}

// BenchmarkRaster draws the parts of a graph one by one, and encodes a graph that is drawn.
func BenchmarkRaster(b *testing.B) {
	var slope, steps, area []Point
	for i := range 400 {
		x, y := 51+float64(i), math.Floor(70-30*math.Sin(float64(i)/30)-8*math.Sin(float64(i)*1.7))
		slope = append(slope, Point{x + 0.5, y + 0.5})
		steps = append(steps, Point{x + 0.5, y + 0.5}, Point{x + 1.5, y + 0.5})
		area = append(area, Point{x, y}, Point{x + 1, y})
	}
	area = append(area, Point{451, 115}, Point{51, 115})
	line := Stroke{Width: 1, Color: rgba(0, 0, 255, 255), Cap: RoundCap, Join: RoundJoin}
	dots := Stroke{Width: 0.4, Color: rgba(143, 143, 143, 191), Dash: []float64{1, 1}, Cap: RoundCap}
	legend := Text{At: Point{15, 137}, Font: Font{Size: 8}, Color: rgba(0, 0, 0, 255), Runs: Plain("  eth0 received   max  102.4 k")}
	for _, bench := range []struct {
		name string
		draw func(Canvas)
	}{
		{"rectangle", func(c Canvas) {
			c.Fill(rgba(255, 255, 255, 255), []Point{{51, 15}, {451, 15}, {451, 115}, {51, 115}})
		}},
		{"area", func(c Canvas) { c.Fill(rgba(0, 204, 0, 255), area) }},
		{"steps", func(c Canvas) { c.Stroke(line, steps) }},
		{"slope", func(c Canvas) { c.Stroke(line, slope) }},
		{"dots", func(c Canvas) { c.Stroke(dots, []Point{{51, 65.5}, {451, 65.5}}) }},
		{"text", func(c Canvas) { c.Text(legend) }},
	} {
		b.Run("draw="+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			c := &bitmap{newRaster(481, 169, 1, Options{})}
			for b.Loop() {
				bench.draw(c)
			}
		})
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		r := newRaster(481, 169, 1, Options{})
		typical(&bitmap{r}, false)
		for b.Loop() {
			if err := r.encode(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A counter counts what is written.
type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

var _ io.Writer = (*counter)(nil)
