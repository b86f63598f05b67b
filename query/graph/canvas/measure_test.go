package canvas

import "testing"

// TestMeasure states what rrdtool's texts take, in pixels, by size in points.
func TestMeasure(t *testing.T) {
	for _, want := range []struct{ size, advance, height float64 }{
		{4, 3, 8},
		{5, 4, 9},
		{5.5, 5, 10},
		{6, 5, 10},
		{6.5, 5, 12},
		{7, 6, 13},
		{7.5, 6, 13},
		{8, 7, 14},
		{8.5, 7, 14},
		{9, 8, 15},
		{9.5, 8, 17},
		{10, 8, 17},
		{10.5, 9, 18},
		{11, 9, 19},
		{12, 10, 20},
		{13, 11, 22},
		{14, 12, 24},
		{16, 13, 27},
		{18, 15, 30},
		{20, 17, 33},
		{24, 20, 39},
	} {
		f := Font{Size: want.size}
		if got := Width(f, Plain(" ab ")); got != 4*want.advance {
			t.Errorf("four glyphs of %g points are %g pixels wide, want %g", want.size, got, 4*want.advance)
		}
		if got := Height(f); got != want.height {
			t.Errorf("%g points are %g pixels high, want %g", want.size, got, want.height)
		}
	}
}
