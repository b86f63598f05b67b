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

// TestProportional states what rrdtool's texts take of DejaVu Sans, regular and bold, in pixels.
// Other families of letters with different widths have these, too.
func TestProportional(t *testing.T) {
	for _, want := range []struct {
		size          float64
		text          string
		regular, bold float64
	}{
		{7, "Maximum", 47, 53},
		{7, "eth0 in/out (bits/s)", 90, 104},
		{8, "Maximum", 56, 61},
		{8, "eth0 in/out (bits/s)", 103, 119},
		{10, "Maximum", 70, 75},
		{10, "eth0 in/out (bits/s)", 127, 148},
		{14, "Maximum", 96, 106},
		{14, "eth0 in/out (bits/s)", 180, 207},
	} {
		for _, family := range []string{"DejaVu Sans", "Helvetica", "Times New Roman,monospace"} {
			f := Font{Size: want.size, Family: family}
			bold := f
			bold.Bold = true
			if got := [2]float64{Width(f, Plain(want.text)), Width(bold, Plain(want.text))}; got != [2]float64{want.regular, want.bold} {
				t.Errorf("%q in %g points of %s is %v pixels wide, want %g and %g", want.text, want.size, family, got, want.regular, want.bold)
			}
		}
	}
	for _, family := range []string{"", "DejaVu Sans Mono", "Courier New,Helvetica", "Consolas", "Source Code Pro"} {
		if got := Width(Font{Size: 8, Family: family}, Plain("ilMW")); got != 28 {
			t.Errorf("four letters of %q are %g pixels wide, want 28", family, got)
		}
	}
	if got := Width(Font{Size: 8, Family: "Sans"}, Plain("█e\u0301")); got != 14 { // a block of the other font, and an e
		t.Errorf("a block and an é are %g pixels wide, want 14", got)
	}
}
