package canvas

import "math"

// Italic glyphs are upright ones, slanted around the middle of a capital letter. DejaVu Sans Mono
// Oblique looks much the same.
const (
	slant      = 0.19438 // the tangent of 11 degrees
	slantShift = -146    // units
)

// A glyph is one character of a text, ready to be drawn.
type glyph struct {
	id            uint16
	char          rune
	face          faceID
	italic        bool
	size          float64 // points
	x, advance    float64 // from the start of the text, pixels
	color         Color
	underl, strik bool
	tab           bool
}

// A line is a text whose glyphs have places.
type line struct {
	glyphs []glyph
	origin Point // of the start of the baseline, pixels
	angle  int
	width  float64
	above  float64
	below  float64
}

// maxText is the number of characters of a text that are drawn.
const maxText = 1 << 16

// lay gives the glyphs of a text their places. It reports false where there is nothing to draw.
func lay(t Text) (line, bool) {
	l := line{angle: t.Angle}
	l.width, l.above, l.below = Measure(t.Font, t.Runs)
	x := 0.0
	for _, r := range t.Runs {
		of := t.Font.face(r)
		g := glyph{
			italic: t.Font.Italic || r.Italic, underl: r.Underline, strik: r.Strike,
			size: clampSize(runSize(t.Font, r)), color: t.Color,
		}
		if r.Color != nil {
			g.color = *r.Color
		}
		if !(g.size > 0) || g.color.A == 0 {
			x = end(t.Font, r, x)
			continue
		}
		for _, c := range r.Text {
			if len(l.glyphs) >= maxText {
				break
			}
			next := after(t.Font, of, g.size, x, c)
			if !unseen(c) {
				g.char, g.x, g.advance = drawable(c), x, next-x
				if g.tab = c == '\t'; g.tab {
					g.char = ' '
				} else if next == x { // over the character before
					g.x = max(0, x-of.advance(c, g.size))
				}
				g.face, g.id = of.glyph(g.char)
				l.glyphs = append(l.glyphs, g)
			}
			x = next
		}
	}
	if len(l.glyphs) == 0 || math.IsNaN(t.At.X) || math.IsNaN(t.At.Y) {
		return l, false
	}
	l.place(t)
	return l, true
}

// place finds where the baseline starts. Half of a text is whole pixels, as in rrdtool.
func (l *line) place(t Text) {
	dx, dy := 0.0, l.above
	switch t.Align {
	case Center:
		dx = -math.Floor(l.width / 2)
	case Right:
		dx = -l.width
	}
	switch t.VAlign {
	case Middle:
		dy = l.above - math.Floor((l.above+l.below)/2)
	case Baseline:
		dy = 0
	case Bottom:
		dy = -l.below
	}
	d := l.turn(Point{dx, dy})
	at := Point{min(max(t.At.X, -farAway), farAway), min(max(t.At.Y, -farAway), farAway)}
	l.origin = Point{at.X + d.X, at.Y + d.Y}
}

// turn turns a distance by the angle of the text.
func (l *line) turn(p Point) Point {
	switch l.angle {
	case 90:
		return Point{p.Y, -p.X}
	case -90:
		return Point{-p.Y, p.X}
	}
	return p
}

// A rule is a line under or through a part of a text, as an upright rectangle from a to b in
// the text's own directions, from the start of its baseline.
type rule struct {
	a, b  Point
	color Color
}

// corners returns the corners of a rule where it is drawn, in pixels before zoom.
func (l *line) corners(u rule) []Point {
	polygon := []Point{u.a, {u.b.X, u.a.Y}, u.b, {u.a.X, u.b.Y}}
	for i, p := range polygon {
		p = l.turn(p)
		polygon[i] = Point{p.X + l.origin.X, p.Y + l.origin.Y}
	}
	return polygon
}

// rules returns the lines under and through a text.
func (l *line) rules() (rules []rule) {
	add := func(g glyph, height float64) {
		px := g.size * pixelsPerPoint
		thick := max(1, math.Floor(px*90/unitsPerEm+0.5))
		y := math.Floor(px*height/unitsPerEm + 0.5)
		next := rule{Point{g.x, y}, Point{g.x + g.advance, y + thick}, g.color}
		for i := range rules {
			if last := &rules[i]; last.b == (Point{next.a.X, next.b.Y}) && last.color == next.color {
				last.b.X = next.b.X
				return
			}
		}
		rules = append(rules, next)
	}
	for _, g := range l.glyphs {
		if g.underl {
			add(g, 130)
		}
		if g.strik {
			add(g, -530)
		}
	}
	return rules
}
