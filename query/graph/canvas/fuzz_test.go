package canvas

import (
	"bytes"
	"encoding/binary"
	"image/png"
	"math"
	"testing"
)

// FuzzDraw draws any text, and paths, dashes and sizes of any numbers, in every format: what comes
// out can be read, and is no larger than what went in explains.
func FuzzDraw(f *testing.F) {
	numbers := func(vs ...float64) (b []byte) {
		for _, v := range vs {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	f.Add("plain", numbers(1, 2, 3, 4, 5, 6, 7, 8), uint8(0))
	f.Add("]]><script>alert('x')</script>&amp;\x00\x1b[31m\xff\xfe", numbers(math.NaN(), math.Inf(1), math.Inf(-1), -1e308, 1e308, 5e-324), uint8(1)) // markup, control characters, no numbers
	f.Add("a\tb\nc\u202e\u200d\u0301e\u0301日本\U0001F600\ufffe", numbers(8, 1, 1, 0.4, 1e-9, 50, 20, 1e-7, 10, 10), uint8(2))                          // short dashes
	f.Add(") showpage (\\", numbers(1e6, 0, 0, 0, 0, 0, 100, 100, 0, 0), uint8(3))                                                                    // PostScript
	f.Fuzz(func(t *testing.T, text string, data []byte, choice uint8) {
		if len(text) > 1000 || len(data) > 2000 {
			return
		}
		next := 0
		number := func() float64 {
			if len(data) < 8 {
				return 1
			}
			v := math.Float64frombits(binary.LittleEndian.Uint64(data[next:]))
			if next += 8; next+8 > len(data) {
				next = 0
			}
			return v
		}
		var path []Point
		for range len(data)/16 + 2 {
			path = append(path, Point{number(), number()})
		}
		for _, format := range []Format{PNG, SVG, PDF, EPS} {
			next = 0
			c, err := New(format, 100, 80, 1+float64(choice%3)/2, Options{Title: text, Hard: choice&8 != 0})
			if err != nil {
				t.Fatal(err)
			}
			c.Group(text, text, func() { c.Fill(rgba(0, 200, 0, 255), path[:2]) })
			c.Fill(rgba(200, 0, 0, choice), path, path[1:])
			c.Clip(Rect{path[0], path[1]}, func() {
				c.Stroke(Stroke{Width: number(), Color: rgba(0, 0, 0, 255-choice), Dash: []float64{number(), number()}, DashOffset: number(), Cap: Cap(choice % 3), Join: Join(choice % 2)}, path)
				c.Gradient(path, number(), rgba(0, 0, 255, 255), number(), rgba(0, 0, 0, choice))
			})
			c.Text(Text{
				At: path[0], Align: Align(choice % 4), VAlign: VAlign(choice % 5), Angle: int(choice%3)*90 - 90,
				Font: Font{Size: number(), Family: text}, Color: rgba(0, 0, 0, 200),
				Runs: []Run{{Text: text, Underline: true, Size: number()}, {Text: text, Bold: true, Italic: choice&1 != 0}},
			})
			c.Text(Text{At: Point{50, 50}, Font: Font{Size: 8}, Color: rgba(0, 0, 0, 255), Runs: Plain(text)})
			var out bytes.Buffer
			if err := c.Encode(&out); err != nil {
				t.Fatal(err)
			}
			switch format {
			case PNG:
				if _, err := png.Decode(&out); err != nil {
					t.Fatal(err)
				}
			case SVG:
				if elements, _ := wellFormed(t, out.Bytes()); elements["script"] != 0 {
					t.Fatalf("a script in\n%s", out.Bytes())
				}
			case PDF:
				validPDF(t, out.Bytes())
			case EPS:
				validEPS(t, out.Bytes())
			}
			if n := out.Len(); n > 2_000_000 {
				t.Fatalf("%v: %d bytes", format, n)
			}
		}
	})
}
