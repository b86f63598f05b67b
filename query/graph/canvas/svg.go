package canvas

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// These name the fonts, and what else will do.
const (
	fontFamily = "'DejaVu Sans Mono','Bitstream Vera Sans Mono',monospace"
	sansFamily = "'DejaVu Sans','Bitstream Vera Sans',sans-serif"
)

// An svg writes elements. Its texts are as wide as they are laid out, whatever font the viewer has.
type svg struct {
	b         []byte
	gradients map[string]bool
	points    []Point
}

func newSVG(width, height, zoom float64, o Options) *svg {
	s := &svg{gradients: map[string]bool{}}
	s.b = append(s.b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<svg xmlns="http://www.w3.org/2000/svg"`...)
	s.number(" width=\"", width*zoom)
	s.number("pt\" height=\"", height*zoom)
	s.number("pt\" viewBox=\"0 0 ", width)
	s.number(" ", height)
	s.b = append(s.b, `" font-family="`+fontFamily+`" fill="none">`...)
	if o.Title != "" {
		s.b = append(s.b, "<title>"+escaped(o.Title)+"</title>"...)
	}
	s.b = append(s.b, '\n')
	return s
}

func (s *svg) Fit() bool { return false }
func (s *svg) Len() int  { return len(s.b) }

// number writes a text and a number.
func (s *svg) number(before string, v float64) {
	s.b = appendNumber(append(s.b, before...), v, 3)
}

// appendNumber appends a number of at most so many places behind the point, as short as it can be.
func appendNumber(b []byte, v float64, places int) []byte {
	from := len(b)
	b = strconv.AppendFloat(b, v, 'f', places, 64)
	if strings.IndexByte(string(b[from:]), '.') >= 0 {
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
		if b[len(b)-1] == '.' {
			b = b[:len(b)-1]
		}
	}
	if string(b[from:]) == "-0" {
		b = append(b[:from], '0')
	}
	return b
}

// path writes the data of a path.
func (s *svg) path(p []Point, closed bool) {
	for i, q := range p {
		switch {
		case i == 0:
			s.two('M', q)
		case q.Y == p[i-1].Y:
			s.b = appendNumber(append(s.b, 'H'), q.X, 2)
		case q.X == p[i-1].X:
			s.b = appendNumber(append(s.b, 'V'), q.Y, 2)
		default:
			s.two('L', q)
		}
	}
	if closed {
		s.b = append(s.b, 'Z')
	}
}

func (s *svg) two(command byte, p Point) {
	s.b = appendNumber(append(s.b, command), p.X, 2)
	s.b = appendNumber(append(s.b, ' '), p.Y, 2)
}

// colour writes the attributes of a colour, which begin with a name.
func (s *svg) colour(name string, c Color) {
	s.b = fmt.Appendf(s.b, ` %s="%s"`, name, hexColour(c))
	if c.A < 255 {
		s.number(" "+name+`-opacity="`, float64(c.A)/255)
		s.b = append(s.b, '"')
	}
}

// hexColour returns red, green and blue as SVG writes them.
func hexColour(c Color) string {
	if c.R%17 == 0 && c.G%17 == 0 && c.B%17 == 0 {
		return fmt.Sprintf("#%x%x%x", c.R/17, c.G/17, c.B/17)
	}
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

func (s *svg) Fill(c Color, paths ...[]Point) {
	if c.A == 0 {
		return
	}
	s.b = append(s.b, "<path"...)
	s.colour("fill", c)
	s.shape(paths)
}

// shape writes the closed paths of an element, and ends it.
func (s *svg) shape(paths [][]Point) {
	s.b = append(s.b, ` d="`...)
	for _, p := range paths {
		if s.points = device(p, 1, s.points); len(s.points) > 2 {
			if last := len(s.points) - 1; s.points[last] == s.points[0] {
				s.points = s.points[:last]
			}
			s.path(s.points, true)
		}
	}
	s.b = append(s.b, "\"/>\n"...)
}

func (s *svg) Stroke(k Stroke, path []Point) {
	s.points = device(path, 1, s.points)
	if k.Color.A == 0 || !(k.Width > 0) || k.Width > farAway || len(s.points) == 0 {
		return
	}
	s.b = append(s.b, "<path"...)
	s.colour("stroke", k.Color)
	if k.Width != 1 {
		s.number(` stroke-width="`, k.Width)
		s.b = append(s.b, '"')
	}
	if k.Cap == RoundCap {
		s.b = append(s.b, ` stroke-linecap="round"`...)
	}
	if k.Join == RoundJoin {
		s.b = append(s.b, ` stroke-linejoin="round"`...)
	} else {
		s.b = append(s.b, ` stroke-miterlimit="10"`...)
	}
	if dash, offset := usable(k); dash != nil {
		for i, d := range dash {
			s.number([]string{` stroke-dasharray="`, ","}[min(i, 1)], d)
		}
		if s.b = append(s.b, '"'); offset != 0 {
			s.number(` stroke-dashoffset="`, offset)
			s.b = append(s.b, '"')
		}
	}
	s.b = append(s.b, ` d="`...)
	p := s.points
	closed := len(p) > 3 && p[0] == p[len(p)-1]
	if closed {
		p = p[:len(p)-1]
	}
	s.path(p, closed)
	if len(p) == 1 {
		s.b = append(s.b, "h0"...) // a dot
	}
	s.b = append(s.b, "\"/>\n"...)
}

func (s *svg) Text(t Text) {
	l, ok := lay(t)
	if !ok {
		return
	}
	pieces := l.pieces()
	if len(pieces) == 0 { // tabs
		return
	}
	// The point that stays where it is if the text has another width than it should.
	anchor, share := "", 0.0
	if len(pieces) == 1 {
		switch t.Align {
		case Center:
			anchor, share = ` text-anchor="middle"`, 0.5
		case Right:
			anchor, share = ` text-anchor="end"`, 1
		}
	}
	s.b = append(s.b, "<text"...)
	for _, p := range pieces {
		if strings.HasPrefix(p.text, " ") || strings.HasSuffix(p.text, " ") || strings.Contains(p.text, "  ") {
			s.b = append(s.b, ` xml:space="preserve"`...)
			break
		}
	}
	s.b = append(s.b, t.Font.families()...)
	if l.angle == 90 || l.angle == -90 {
		s.b = fmt.Appendf(s.b, ` transform="rotate(%d`, -l.angle)
		s.number(" ", l.origin.X)
		s.number(" ", l.origin.Y)
		s.b = append(s.b, `)"`...)
	}
	s.number(` y="`, l.origin.Y)
	s.b = append(s.b, `"`+anchor...)
	for i, p := range pieces {
		if len(pieces) > 1 {
			s.b = append(s.b, [2]string{"><tspan", "<tspan"}[min(i, 1)]...)
		}
		s.number(` x="`, l.origin.X+p.x+share*p.width)
		if p.width > 0 {
			s.number(`" textLength="`, p.width)
		}
		s.number(`" font-size="`, p.size*pixelsPerPoint)
		if extra, even := p.spacing(); even && len(p.glyphs) > 1 { // for programs that ignore textLength
			s.number(`" letter-spacing="`, extra)
		}
		s.b = append(s.b, '"')
		s.colour("fill", p.color)
		s.b = append(s.b, p.style()+">"+escaped(p.text)...)
		if len(pieces) > 1 {
			s.b = append(s.b, "</tspan>"...)
		}
	}
	s.b = append(s.b, "</text>\n"...)
}

// style returns the attributes of bold, italic and lined text.
func (p *piece) style() (attributes string) {
	if p.face&boldFace != 0 {
		attributes += ` font-weight="bold"`
	}
	if p.italic {
		attributes += ` font-style="italic"`
	}
	switch {
	case p.underl && p.strik:
		attributes += ` text-decoration="underline line-through"`
	case p.underl:
		attributes += ` text-decoration="underline"`
	case p.strik:
		attributes += ` text-decoration="line-through"`
	}
	return attributes
}

// families returns the attribute that names the family of the font, if it has one.
func (f Font) families() string {
	name, other := familyName(f.Family), fontFamily
	if f.Proportional() {
		other = sansFamily
	}
	if name == "" {
		return ""
	}
	return ` font-family="'` + name + "'," + other + `"`
}

// familyName drops the characters of a name that could end the attribute in which it stands.
func familyName(name string) string {
	name, _, _ = strings.Cut(name, ",")
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune(" -_.", c) {
			return c
		}
		return -1
	}, strings.ToValidUTF8(name, "")))
}

func (s *svg) Clip(c Rect, draw func()) {
	p := device([]Point{c.Min, c.Max}, 1, nil)
	if len(p) < 2 || p[0].X >= p[1].X || p[0].Y >= p[1].Y {
		p = []Point{{-2, -2}, {-1, -1}} // outside: everything is clipped away
	}
	// An svg in an svg clips, and needs no name.
	s.number(`<svg x="`, p[0].X)
	s.number(`" y="`, p[0].Y)
	s.number(`" width="`, p[1].X-p[0].X)
	s.number(`" height="`, p[1].Y-p[0].Y)
	s.number(`" viewBox="`, p[0].X)
	s.number(" ", p[0].Y)
	s.number(" ", p[1].X-p[0].X)
	s.number(" ", p[1].Y-p[0].Y)
	s.b = append(s.b, "\">\n"...)
	draw()
	s.b = append(s.b, "</svg>\n"...)
}

func (s *svg) Group(id, title string, draw func()) {
	s.b = append(s.b, "<g"...)
	if id != "" {
		s.b = append(s.b, ` id="`+escaped(id)+`"`...)
	}
	s.b = append(s.b, '>')
	if title != "" {
		s.b = append(s.b, "<title>"+escaped(title)+"</title>"...)
	}
	s.b = append(s.b, '\n')
	draw()
	s.b = append(s.b, "</g>\n"...)
}

func (s *svg) Encode(w io.Writer) error {
	s.b = append(s.b, "</svg>\n"...)
	_, err := w.Write(s.b)
	return err
}

// escaped returns a text as XML has it, in an element or a quoted attribute.
func escaped(s string) string { return entities.Replace(shown(s)) }

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")
