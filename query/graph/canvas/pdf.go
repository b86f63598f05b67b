package canvas

import (
	"fmt"
)

// A pdf writes the operators of one page. Encode puts them into a file, with the fonts and states
// that they name.
type pdf struct {
	page
	alphas  map[uint8]bool
	shades  []string // dictionaries
	masks   []string // their shades of alpha; "" where it is the same throughout
	shadeOf map[string]int
	subsets [numFaces]subset
}

// A page is operators, as PDF and EPS have them, and the state that they have set.
type page struct {
	width, height, zoom float64
	title               string
	b                   []byte
	state               pageState
	points              []Point
}

// A pageState is the part of the graphics state that the canvas sets. A value holds until it is set
// again.
type pageState struct {
	fill, stroke string
	alpha        uint8 // of PDF
}

func newPDF(width, height, zoom float64, o Options) *pdf {
	p := &pdf{page: page{width: width, height: height, zoom: zoom, title: o.Title}, alphas: map[uint8]bool{}, shadeOf: map[string]int{}}
	p.state.alpha = 255
	// Pixels before zoom, y downward.
	p.numbers(zoom, 0, 0, -zoom, 0, height*zoom)
	p.b = append(p.b, "cm\n"...)
	return p
}

func (p *page) Fit() bool                      { return false }
func (p *page) Len() int                       { return len(p.b) }
func (p *page) Group(_, _ string, draw func()) { draw() }

// numbers writes operands.
func (p *page) numbers(vs ...float64) { p.b = appendNumbers(p.b, vs...) }

func appendNumbers(b []byte, vs ...float64) []byte {
	for _, v := range vs {
		b = append(appendNumber(b, v, 3), ' ')
	}
	return b
}

// rgb returns a colour as operands.
func rgb(c Color) string {
	return string(appendNumbers(nil, float64(c.R)/255, float64(c.G)/255, float64(c.B)/255))
}

func (p *page) colour(c Color) {
	if s := rgb(c) + "rg\n"; s != p.state.fill {
		p.state.fill = s
		p.b = append(p.b, s...)
	}
}

func (p *pdf) alpha(a uint8) {
	if a != p.state.alpha {
		p.state.alpha = a
		p.alphas[a] = true
		p.b = fmt.Appendf(p.b, "/A%d gs\n", a)
	}
}

// trace writes a path, and reports whether there is one.
func (p *page) trace(path []Point, closed bool) bool {
	p.points = device(path, 1, p.points)
	path = p.points
	if n := len(path); n > 3 && path[0] == path[n-1] {
		path, closed = path[:n-1], true
	}
	if len(path) == 1 {
		path = []Point{path[0], path[0]} // a dot
	}
	for i, q := range path {
		p.b = appendNumber(p.b, q.X, 2)
		p.b = append(appendNumber(append(p.b, ' '), q.Y, 2), ' ')
		p.b = append(p.b, [2]string{"m\n", "l\n"}[min(i, 1)]...)
	}
	if closed && len(path) > 0 {
		p.b = append(p.b, "h\n"...)
	}
	return len(path) > 0
}

func (p *pdf) Fill(c Color, paths ...[]Point) {
	if c.A == 0 {
		return
	}
	p.colour(c)
	p.alpha(c.A)
	any := false
	for _, path := range paths {
		any = p.trace(path, true) || any
	}
	if any {
		p.b = append(p.b, "f\n"...)
	}
}

func (p *pdf) Gradient(path []Point, y1 float64, c1 Color, y2 float64, c2 Color) {
	ends := device([]Point{{0, y1}, {1, y2}}, 1, nil)
	if len(ends) < 2 || len(device(path, 1, p.points)) < 3 {
		return
	}
	n := p.shade(ends[0].Y, c1, ends[1].Y, c2)
	alpha := uint8(255)
	if c1.A == c2.A {
		alpha = c1.A
	}
	p.alpha(alpha)
	p.b = append(p.b, "q\n"...)
	p.trace(path, true)
	p.b = append(p.b, "W n\n"...)
	if p.masks[n] != "" {
		p.b = fmt.Appendf(p.b, "/M%d gs\n", n)
	}
	p.b = fmt.Appendf(p.b, "/S%d sh\nQ\n", n)
}

// shade returns the number of a gradient.
func (p *pdf) shade(y1 float64, c1 Color, y2 float64, c2 Color) int {
	dict := shadeDict("/DeviceRGB", y1, y2, rgb(c1), rgb(c2))
	mask := ""
	if c1.A != c2.A {
		grey := func(a uint8) string { return string(appendNumbers(nil, float64(a)/255)) }
		mask = shadeDict("/DeviceGray", y1, y2, grey(c1.A), grey(c2.A))
	}
	n, ok := p.shadeOf[dict+mask]
	if !ok {
		n = len(p.shades)
		p.shadeOf[dict+mask] = n
		p.shades, p.masks = append(p.shades, dict), append(p.masks, mask)
	}
	return n
}

// shadeDict describes a vertical gradient, as PDF and PostScript do.
func shadeDict(space string, y1, y2 float64, c1, c2 string) string {
	if y1 == y2 {
		y2 += 1e-3
	}
	return fmt.Sprintf("<< /ShadingType 2 /ColorSpace %s /Coords [ 0 %s0 %s] /Extend [ true true ] /Function << /FunctionType 2 /Domain [ 0 1 ] /N 1 /C0 [ %s] /C1 [ %s] >> >>",
		space, appendNumbers(nil, y1), appendNumbers(nil, y2), c1, c2)
}

func (p *pdf) Stroke(s Stroke, path []Point) {
	if s.Color.A == 0 || !(s.Width > 0) || s.Width > farAway {
		return
	}
	if c := rgb(s.Color) + "RG\n" + lineStyle(s); c != p.state.stroke {
		p.state.stroke = c
		p.b = append(p.b, c...)
	}
	p.alpha(s.Color.A)
	if p.trace(path, false) {
		p.b = append(p.b, "S\n"...)
	}
}

// lineStyle sets what a line looks like.
func lineStyle(s Stroke) string {
	b := fmt.Appendf(appendNumbers(nil, s.Width), "w %d J %d j %d M [ ", min(s.Cap, RoundCap), min(s.Join, RoundJoin), miterLimit)
	dash, offset := usable(s)
	b = append(appendNumbers(b, dash...), "] "...)
	return string(append(appendNumbers(b, offset), "d\n"...))
}

func (p *pdf) Clip(r Rect, draw func()) { p.clip(r, "re W n\n", draw) }

// clip draws within a clip, whose operators follow the numbers of the rectangle.
func (p *page) clip(r Rect, operators string, draw func()) {
	outer := p.state
	p.b = append(p.b, "q\n"...)
	c := device([]Point{r.Min, r.Max}, 1, nil)
	if len(c) < 2 {
		c = []Point{{-2, -2}, {-2, -2}} // outside: everything is clipped away
	}
	p.numbers(c[0].X, c[0].Y, max(0, c[1].X-c[0].X), max(0, c[1].Y-c[0].Y))
	p.b = append(p.b, operators...)
	draw()
	p.b = append(p.b, "Q\n"...)
	p.state = outer
}

func (p *pdf) Text(t Text) {
	l, ok := lay(t)
	if !ok {
		return
	}
	for _, s := range l.pieces() {
		p.colour(s.color)
		p.alpha(s.color.A)
		px := s.size * pixelsPerPoint
		font := s.face
		p.b = fmt.Appendf(p.b, "BT /F%d ", font)
		p.numbers(px)
		p.b = append(p.b, "Tf "...)
		p.numbers(l.matrix(s)...)
		p.b = append(p.b, "Tm "...)
		extra, even := s.spacing()
		p.numbers(extra)
		p.b = append(p.b, "Tc "...)
		if even {
			p.b = append(p.b, '<')
			for _, g := range s.glyphs {
				p.b = fmt.Appendf(p.b, "%04x", p.subsets[font].number(g.char))
			}
			p.b = append(p.b, "> Tj ET\n"...)
			continue
		}
		p.b = append(p.b, '[')
		for i, g := range s.glyphs {
			p.b = fmt.Appendf(p.b, "<%04x>", p.subsets[font].number(g.char))
			if i+1 < len(s.glyphs) {
				natural := px * float64(g.face.units(g.char)) / unitsPerEm
				p.numbers((g.x + natural + extra - s.glyphs[i+1].x) / px * 1000)
			}
		}
		p.b = append(p.b, "] TJ ET\n"...)
	}
	for _, u := range l.rules() {
		p.Fill(u.color, l.corners(u))
	}
}

// matrix returns the six numbers that place a piece of text: a font's unit goes right and up in
// the text's own directions.
func (l *line) matrix(s piece) []float64 {
	right, up := l.turn(Point{1, 0}), l.turn(Point{0, -1})
	at := l.turn(Point{s.x, 0})
	if s.italic {
		up.X, up.Y = up.X+slant*right.X, up.Y+slant*right.Y
		shift := slantShift * s.size * pixelsPerPoint / unitsPerEm
		at.X, at.Y = at.X+shift*right.X, at.Y+shift*right.Y
	}
	return []float64{right.X, right.Y, up.X, up.Y, l.origin.X + at.X, l.origin.Y + at.Y}
}

// spacing returns what is to be added to the width of each glyph so that a piece is as wide as it
// is laid out, and whether that puts all of them into their places.
func (p *piece) spacing() (extra float64, even bool) {
	if p.face&sansFace != 0 {
		return 0, false
	}
	wide := p.face.advance(p.char, p.size)
	for i, g := range p.glyphs {
		if i > 0 && g.x != p.glyphs[i-1].x+wide {
			return 0, false
		}
	}
	return wide - p.size*pixelsPerPoint*unitAdvance/unitsPerEm, true
}
