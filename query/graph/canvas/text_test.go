package canvas

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"testing"
)

func TestWidth(t *testing.T) {
	f := Font{Size: 8} // 7 pixels a glyph
	for _, tt := range []struct {
		name string
		font Font
		runs []Run
		want float64
	}{
		{"nothing", f, nil, 0},
		{"blanks", f, Plain("   "), 21},
		{"more than a byte a character", f, Plain("äж→"), 21},
		{"no UTF-8", f, Plain("a\xff\xfeb"), 28},
		{"control characters", f, Plain("\x00\x1b\x7f"), 21},
		{"combining", f, Plain("e\u0301\u0308x"), 14},
		{"joiners and directions", f, Plain("a\u200d\u202e\ufe0f\u2066b"), 14},
		{"wide, but not here", f, Plain("日本"), 14},
		{"tab", f, Plain("ab\tc"), 63},
		{"tab at a stop", f, Plain("12345678\tc"), 119},
		{"two sizes", f, []Run{{Text: "ab"}, {Text: "cd", Size: 16, Bold: true}}, 40},
		{"tab behind another size", f, []Run{{Text: "abcdef", Size: 16}, {Text: "\tc"}}, 119},
		{"no size", Font{}, Plain("abc"), 0},
		{"negative size", Font{Size: -8}, Plain("abc"), 0},
		{"huge size", Font{Size: 1e300}, Plain("a"), 836},
	} {
		if got := Width(tt.font, tt.runs); got != tt.want {
			t.Errorf("%s: the width is %g, want %g", tt.name, got, tt.want)
		}
	}
	if _, above, below := Measure(f, []Run{{Text: "a"}, {Text: "b", Size: 16}}); above != 21 || below != 6 {
		t.Errorf("with a run of 16 points the text reaches %g up, %g down", above, below)
	}
}

// TestPlaces states where texts stand: the box of an H, in pixels, by the place of its text.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct {
		align  Align
		valign VAlign
		angle  int
		want   string
	}{
		// An H of 8 points stands one pixel from the left in a cell of 7, and is 5 wide and 8
		// high; 11 pixels are above the baseline, 3 below.
		{Left, Top, 0, "101,103-106,111"},
		{Left, Baseline, 0, "101,92-106,100"},
		{Left, Bottom, 0, "101,89-106,97"},
		{Left, Middle, 0, "101,96-106,104"},
		{Center, Bottom, 0, "98,89-103,97"},
		{Right, Bottom, 0, "94,89-99,97"},
		{Left, Baseline, 90, "92,94-100,99"},
		{Right, Baseline, 90, "92,101-100,106"},
		{Left, Top, 90, "103,94-111,99"},
		{Left, Baseline, -90, "100,101-108,106"},
		{Left, Top, -90, "89,101-97,106"},
		{Left, Baseline, 45, "101,92-106,100"}, // no such angle
	} {
		m := decoded(t, encoded(t, PNG, 1, func(c Canvas) {
			c.Text(Text{At: Point{100, 100}, Align: tt.align, VAlign: tt.valign, Angle: tt.angle, Font: Font{Size: 8}, Color: rgba(0, 0, 0, 255), Runs: Plain("H")})
		}))
		x0, y0, x1, y1 := 999, 999, -1, -1
		for y := range 220 {
			for x := range 481 {
				if at(m, x, y).A > 0 {
					x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x+1), max(y1, y+1)
				}
			}
		}
		if got := fmt.Sprintf("%d,%d-%d,%d", x0, y0, x1, y1); got != tt.want {
			t.Errorf("align %d, vertical %d, %d degrees: the H is at %s, want %s", tt.align, tt.valign, tt.angle, got, tt.want)
		}
	}
}

// TestHardEdges draws without half covered pixels. Hairlines are seen all the same.
func TestHardEdges(t *testing.T) {
	c, err := New(PNG, 481, 220, 1, Options{Hard: true, HardText: true})
	if err != nil {
		t.Fatal(err)
	}
	black := rgba(0, 0, 0, 255)
	c.Fill(black, []Point{{10, 10}, {60, 17}, {30, 55}})
	c.Stroke(Stroke{Width: 0.4, Color: black}, []Point{{100, 50.5}, {200, 50.5}})
	c.Stroke(Stroke{Width: 0.4, Color: black}, []Point{{100, 60}, {200, 87}})
	c.Text(Text{At: Point{100, 100}, Font: Font{Size: 8}, Color: black, Runs: []Run{{Text: "text "}, {Text: "slanted", Italic: true}, {Text: "large", Size: 200}}})
	var out bytes.Buffer
	if err := c.Encode(&out); err != nil {
		t.Fatal(err)
	}
	m := decoded(t, out.Bytes())
	for y := range 220 {
		for x := range 481 {
			if a := at(m, x, y).A; a != 0 && a != 255 {
				t.Fatalf("the alpha at %d, %d is %d", x, y, a)
			}
		}
	}
	for x := 101; x < 199; x++ {
		if at(m, x, 50).A == 0 {
			t.Fatalf("the hairline has a gap at %d", x)
		}
	}
}

// TestTogether draws one picture many times at once: canvases share glyphs.
func TestTogether(t *testing.T) {
	for _, f := range []Format{PNG, SVG, PDF, EPS} {
		want := encoded(t, f, 1, sample)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				c, err := New(f, 481, 220, 1, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				sample(c)
				var out bytes.Buffer
				if err := c.Encode(&out); err != nil || !bytes.Equal(out.Bytes(), want) {
					t.Errorf("%v: another picture: %v", f, err)
				}
			})
		}
		wait.Wait()
	}
}

// ExampleNew draws a line, its name, and writes both as SVG.
func ExampleNew() {
	c, err := New(SVG, 100, 20, 1, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Group("load", "load of the last minute", func() {
		c.Stroke(Stroke{Width: 1, Color: Color{B: 255, A: 255}}, []Point{{0, 20}, {50, 10}, {100, 10}})
		c.Text(Text{At: Point{50, 2}, Align: Center, Font: Font{Size: 7.2}, Color: Color{A: 255}, Runs: Plain("load")})
	})
	if err := c.Encode(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <svg xmlns="http://www.w3.org/2000/svg" width="100pt" height="20pt" viewBox="0 0 100 20" font-family="'DejaVu Sans Mono','Bitstream Vera Sans Mono',monospace" fill="none">
	// <g id="load"><title>load of the last minute</title>
	// <path stroke="#00f" stroke-miterlimit="10" d="M0 20L50 10H100"/>
	// <text y="12" text-anchor="middle" x="50" textLength="24" font-size="10" letter-spacing="-0.021" fill="#000">load</text>
	// </g>
	// </svg>
}

// TestLettersDoNotGrowTogether counts the upright bars of letters in small sizes, which hinting
// might move onto each other.
func TestLettersDoNotGrowTogether(t *testing.T) {
	for _, tt := range []struct {
		size float64
		char string
		row  int // above the baseline
		want string
	}{
		{7, "Ä", 9, "01010"}, // the dots
		{7.5, "ü", 8, "01010"},
		{7, "m", 1, "0101010"},
		{8, "m", 1, "0101010"},
		{9, "H", 1, "01010"},
		{9, "M", 1, "01010"},
	} {
		m := decoded(t, encoded(t, PNG, 1, func(c Canvas) {
			c.Text(Text{At: Point{100, 100}, VAlign: Baseline, Font: Font{Size: tt.size}, Color: rgba(0, 0, 0, 255), Runs: Plain(tt.char)})
		}))
		got := "0"
		for x := 95; x < 115; x++ {
			ink := "0"
			if at(m, x, 100-tt.row).A > 100 {
				ink = "1"
			}
			if got[len(got)-1:] != ink {
				got += ink
			}
		}
		if got != tt.want {
			t.Errorf("%s of %g points: row %d goes %s, want %s", tt.char, tt.size, tt.row, got, tt.want)
		}
	}
}
