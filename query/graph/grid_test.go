package graph

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"github.com/rondo-db/rondo/query/graph/canvas"
)

// TestGridDashesAreWholePixels draws dotted lines of the grid: dots are as dark as the line is wide,
// and nothing lies between them.
func TestGridDashesAreWholePixels(t *testing.T) {
	for _, zoom := range []float64{1, 2} {
		c, err := canvas.New(canvas.PNG, 40, 40, zoom, canvas.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := painter{Layout: &Layout{o: &Options{Zoom: zoom}}, c: c, fit: true}
		p.gridLine(5, 20, 35, 20, canvas.Stroke{Width: 0.6, Color: canvas.Color{A: 255}, Dash: []float64{1, 1}})
		p.gridLine(3, 35, 3, 10, canvas.Stroke{Width: 0.6, Color: canvas.Color{A: 255}, Dash: []float64{1, 1}})
		var b bytes.Buffer
		if err := c.Encode(&b); err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		ink := map[uint8]int{}
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				if a := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA).A; a > 0 {
					ink[a]++
				}
			}
		}
		// A line of 1.2 pixels is one pixel and a fifth. The very last dot may be cut.
		want := map[float64]map[uint8]int{1: {153: 28}, 2: {255: 56, 51: 56}}[zoom]
		for a, n := range ink {
			if n < want[a]-1 || want[a] == 0 && n > 1 {
				t.Errorf("zoom %g: pixels by alpha: %v, want %v", zoom, ink, want)
				break
			}
		}
	}
}
