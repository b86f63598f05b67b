package canvas

import (
	"fmt"
	"io"
	"strings"
)

// An eps writes PostScript of level 3. PostScript knows no alpha: what is translucent is drawn in
// the colours that it has over what lies below, which the canvas knows because it draws everything
// into pixels as well (see backdrop). Over transparent places the paper is white.
type eps struct {
	page
	below   *backdrop
	subsets [numFaces][]subset // each a font of its own
}

func newEPS(width, height, zoom float64, o Options) *eps {
	return &eps{page: page{width: width, height: height, zoom: zoom, title: o.Title}, below: newBackdrop(width, height, zoom)}
}

// rectangles adds upright rectangles to the path.
func (e *eps) rectangles(rs []Rect) {
	for _, r := range rs {
		e.b = append(appendNumbers(e.b, r.Min.X, r.Min.Y, r.Max.X-r.Min.X, r.Max.Y-r.Min.Y), "re\n"...)
	}
}

// paint draws a shape once for each patch, in the colour that it has there. Clips have hard edges,
// so the clip is the patch and not the shape.
func (e *eps) paint(c Color, patches []patch, draw func()) {
	for _, p := range patches {
		if len(patches) == 1 {
			e.colour(p.over(c))
			draw()
			return
		}
		e.b = append(e.b, "q\n"...)
		e.rectangles(p.where)
		e.b = append(append(e.b, "W\n"...), rgb(p.over(c))+"rg\n"...)
		draw()
		e.b = append(e.b, "Q\n"...)
	}
}

func (e *eps) Fill(c Color, paths ...[]Point) {
	e.paint(c, e.below.under(c, around(0, paths...)), func() {
		for _, p := range paths {
			e.trace(p, true)
		}
		e.b = append(e.b, "f\n"...)
	})
	e.below.raster.Fill(c, paths...)
}

func (e *eps) Gradient(path []Point, y1 float64, c1 Color, y2 float64, c2 Color) {
	ends := device([]Point{{0, y1}, {1, y2}}, 1, nil)
	if len(ends) < 2 {
		return
	}
	alpha := c1
	alpha.A = min(c1.A, c2.A)
	if alpha.A == 0 && max(c1.A, c2.A) > 0 {
		alpha.A = 1 // one end of the gradient can be seen
	}
	patches := e.below.under(alpha, around(0, path))
	for _, p := range patches {
		e.b = append(e.b, "q\n"...)
		e.trace(path, true)
		e.b = append(e.b, "W\n"...)
		if len(patches) > 1 {
			e.rectangles(p.where)
			e.b = append(e.b, "W\n"...)
		}
		e.b = append(e.b, shadeDict("/DeviceRGB", ends[0].Y, ends[1].Y, rgb(p.over(c1)), rgb(p.over(c2)))+" shfill\nQ\n"...)
	}
	e.below.raster.Gradient(path, y1, c1, y2, c2)
}

func (e *eps) Stroke(s Stroke, path []Point) {
	if !(s.Width > 0) || s.Width > farAway || len(device(path, 1, nil)) == 0 {
		return
	}
	patches := e.below.under(s.Color, around(s.Width, path))
	if style := lineStyle(s); len(patches) > 0 && style != e.state.stroke {
		e.state.stroke = style
		e.b = append(e.b, style...)
	}
	e.paint(s.Color, patches, func() {
		e.trace(path, false)
		e.b = append(e.b, "S\n"...)
	})
	if s.Width >= 1 { // colours below the grid's hairlines would not be seen
		e.below.raster.Stroke(s, path)
	}
}

func (e *eps) Clip(r Rect, draw func()) {
	e.clip(r, "re\nW\n", func() { e.below.raster.Clip(r, draw) })
}

func (e *eps) Text(t Text) {
	l, ok := lay(t)
	if !ok {
		return
	}
	a, b := l.turn(Point{0, -l.above}), l.turn(Point{l.width, l.below})
	box := around(0, []Point{{l.origin.X + a.X, l.origin.Y + a.Y}, {l.origin.X + b.X, l.origin.Y + b.Y}})
	for _, s := range l.pieces() {
		// A text is so thin that one colour will do.
		patches := e.below.under(s.color, box)
		if len(patches) == 0 {
			continue
		}
		e.colour(patches[0].over(s.color))
		e.piece(&l, s)
	}
	for _, u := range l.rules() {
		e.Fill(u.color, l.corners(u))
	}
	e.below.raster.Text(t)
}

// piece writes glyphs. The glyphs of one font go together, as far as they are evenly spaced.
func (e *eps) piece(l *line, s piece) {
	m := l.matrix(s)
	px := s.size * pixelsPerPoint
	extra, even := s.spacing()
	right := l.turn(Point{1, 0})
	for i := 0; i < len(s.glyphs); {
		font, code := e.font(s.face, s.glyphs[i].char)
		text := fmt.Appendf(nil, "%02x", code)
		first := s.glyphs[i]
		for i++; even && i < len(s.glyphs); i++ {
			next, code := e.font(s.face, s.glyphs[i].char)
			if next != font {
				break
			}
			text = fmt.Appendf(text, "%02x", code)
		}
		e.b = fmt.Appendf(e.b, "/%s [ %s0 0 ] selectfont\n", font, appendNumbers(nil, m[0]*px, m[1]*px, m[2]*px, m[3]*px))
		at := first.x - s.x
		e.b = append(appendNumbers(e.b, m[4]+at*right.X, m[5]+at*right.Y), "m "...)
		e.b = fmt.Appendf(appendNumbers(e.b, extra*right.X, extra*right.Y), "<%s> ashow\n", broken(text))
	}
}

// font returns the font that a character is in, and its code there.
func (e *eps) font(i faceID, c rune) (name string, code int) {
	subsets := e.subsets[i]
	for n := range subsets {
		if code, ok := subsets[n].numbers[c]; ok {
			return fontName(i, n), code
		}
	}
	if n := len(subsets); n == 0 || len(subsets[n-1].chars) == mostCodes {
		e.subsets[i] = append(subsets, subset{})
	}
	n := len(e.subsets[i]) - 1
	return fontName(i, n), e.subsets[i][n].number(c)
}

// mostCodes is the number of characters of one font. A byte has room for more, but the font is one
// string, which must be shorter than 64 kB.
const mostCodes = 100

func fontName(face faceID, n int) string { return fmt.Sprintf("Rondo%c%d", 'A'+face, n) }

const epsProlog = `/m { moveto } bind def
/l { lineto } bind def
/h { closepath } bind def
/re { 4 2 roll moveto 1 index 0 rlineto 0 exch rlineto neg 0 rlineto closepath } bind def
/f { fill } bind def
/S { stroke } bind def
/W { clip newpath } bind def
/q { gsave } bind def
/Q { grestore } bind def
/rg { setrgbcolor } bind def
/w { setlinewidth } bind def
/J { setlinecap } bind def
/j { setlinejoin } bind def
/M { setmiterlimit } bind def
/d { setdash } bind def
`

// Encode writes the file: a picture of the size in points that it has in pixels after zoom.
func (e *eps) Encode(w io.Writer) error {
	var b strings.Builder
	b.WriteString("%!PS-Adobe-3.0 EPSF-3.0\n%%Creator: rondo\n")
	if e.title != "" {
		fmt.Fprintf(&b, "%%%%Title: (%s)\n", literal(e.title))
	}
	width, height := e.width*e.zoom, e.height*e.zoom
	up := func(v float64) int { // a rounding error adds no whole point
		n := int(v)
		if v-float64(n) > 1e-6 {
			n++
		}
		return n
	}
	fmt.Fprintf(&b, "%%%%BoundingBox: 0 0 %d %d\n%%%%HiResBoundingBox: 0 0 %s\n%%%%LanguageLevel: 3\n%%%%EndComments\n%%%%BeginProlog\nsave 50 dict begin\n%s%%%%EndProlog\n",
		up(width), up(height), strings.TrimSpace(string(appendNumbers(nil, width, height))), epsProlog)
	for i, subsets := range e.subsets {
		for n := range subsets {
			subsets[n].type42(&b, fontName(faceID(i), n), faces[i]())
		}
	}
	fmt.Fprintf(&b, "[ %s] concat\n", appendNumbers(nil, e.zoom, 0, 0, -e.zoom, 0, height))
	b.Write(e.b)
	b.WriteString("end restore\nshowpage\n%%EOF\n")
	e.below.raster.keep()
	e.below = nil // another picture may have the raster next
	_, err := io.WriteString(w, b.String())
	return err
}

// literal returns a text for a comment: of ASCII, short, parentheses escaped.
func literal(s string) string {
	var b strings.Builder
	for _, c := range shown(s) {
		switch {
		case b.Len() > 200:
			return b.String() + "..."
		case c == '(' || c == ')' || c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c < 0x20 || c > 0x7e:
			b.WriteByte('?')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// broken returns digits in lines.
func broken(hex []byte) string {
	const long = 200
	var b strings.Builder
	for ; len(hex) > long; hex = hex[long:] {
		b.Write(hex[:long])
		b.WriteByte('\n')
	}
	b.Write(hex)
	return b.String()
}

// type42 writes the font of a subset, with the codes 1, 2, ….
func (s *subset) type42(b *strings.Builder, name string, f *face) {
	box := f.Box()
	em := func(units int) float64 { return float64(units) / unitsPerEm }
	fmt.Fprintf(b, "%%%%BeginResource: font %s\n10 dict begin\n/FontName /%s def\n/FontType 42 def\n/PaintType 0 def\n/FontMatrix [ 1 0 0 1 0 0 ] def\n/FontBBox [ %s] def\n",
		name, name, appendNumbers(nil, em(box[0]), em(box[1]), em(box[2]), em(box[3])))
	b.WriteString("/Encoding 256 array 0 1 255 { 1 index exch /.notdef put } for\n")
	for i, c := range s.chars {
		fmt.Fprintf(b, "dup %d /u%s put\n", i+1, glyphName(c))
	}
	fmt.Fprintf(b, "def\n/CharStrings %d dict dup begin\n/.notdef 0 def\n", len(s.chars)+1)
	for i, c := range s.chars {
		fmt.Fprintf(b, "/u%s %d def\n", glyphName(c), i+1)
	}
	b.WriteString("end def\n/sfnts [ <\n")
	b.WriteString(broken(fmt.Appendf(nil, "%x", s.font(f))))
	b.WriteString("\n> ] def\nFontName currentdict end definefont pop\n%%EndResource\n")
}

// glyphName returns the name of a character behind u, from which programs know what it is.
func glyphName(c rune) string {
	if c > 0xffff {
		return fmt.Sprintf("%X", c)
	}
	return fmt.Sprintf("ni%04X", c)
}
