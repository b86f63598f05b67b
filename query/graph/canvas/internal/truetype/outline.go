package truetype

// A Point is a point of an outline, in units of the em square, y upward. Half way between two
// points that are not On the curve lies a third one that is.
type Point struct {
	X, Y int16
	On   bool
}

// maxDepth bounds how deep composed glyphs are composed of composed ones.
const maxDepth = 4

// Flags of points and of components.
const (
	onCurve, xShort, yShort, repeat, xSame, ySame = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20

	words, offsets, oneScale, more, twoScales, matrix, instructions = 0x01, 0x02, 0x08, 0x20, 0x40, 0x80, 0x100
)

// data returns the bytes of the table glyf that describe a glyph.
func (f *Font) data(id uint16) []byte {
	if int(id) >= f.Glyphs() {
		return nil
	}
	return f.glyf[f.offsets[id]:f.offsets[id+1]]
}

// Outline returns the contours of a glyph, each closed. A blank has none.
func (f *Font) Outline(id uint16) [][]Point { return f.outline(id, 0) }

func (f *Font) outline(id uint16, depth int) [][]Point {
	d := f.data(id)
	switch {
	case len(d) < 10 || depth > maxDepth:
		return nil
	case int16(be.Uint16(d)) < 0:
		return f.composed(d, depth)
	}
	contours, _ := simple(d)
	return contours
}

// simple reads a glyph that is not composed, and returns the parts of its description: contour
// ends, and flags with coordinates. Between the two stand instructions.
func simple(d []byte) (contours [][]Point, parts [2][]byte) {
	n := int(be.Uint16(d))
	if len(d) < 10+2*n+2 {
		return nil, parts
	}
	parts[0] = d[:10+2*n]
	ends := d[10:]
	rest := 10 + 2*n + 2 + int(be.Uint16(d[10+2*n:]))
	if n == 0 || rest > len(d) {
		return nil, parts
	}
	parts[1] = d[rest:]
	points := make([]Point, int(be.Uint16(ends[2*n-2:]))+1)
	flags := make([]byte, 0, len(points))
	r := reader(parts[1])
	for len(flags) < len(points) {
		flag := r.byte()
		times := 1
		if flag&repeat != 0 {
			times += int(r.byte())
		}
		for ; times > 0 && len(flags) < len(points); times-- {
			flags = append(flags, flag)
		}
	}
	x, y := int16(0), int16(0)
	for i, flag := range flags {
		x += r.delta(flag&xShort != 0, flag&xSame != 0)
		points[i] = Point{X: x, On: flag&onCurve != 0}
	}
	for i, flag := range flags {
		y += r.delta(flag&yShort != 0, flag&ySame != 0)
		points[i].Y = y
	}
	from := 0
	for i := range n {
		to := int(be.Uint16(ends[2*i:])) + 1
		if to < from || to > len(points) {
			return nil, parts
		}
		contours = append(contours, points[from:to])
		from = to
	}
	return contours, parts
}

// A reader reads bytes; behind the end it reads zeros.
type reader []byte

func (r *reader) byte() byte {
	if len(*r) == 0 {
		return 0
	}
	b := (*r)[0]
	*r = (*r)[1:]
	return b
}

func (r *reader) word() uint16 { return uint16(r.byte())<<8 | uint16(r.byte()) }

// delta reads the difference of a coordinate to the one before.
func (r *reader) delta(short, same bool) int16 {
	switch {
	case short && same:
		return int16(r.byte())
	case short:
		return -int16(r.byte())
	case same:
		return 0
	}
	return int16(r.word())
}

// A component is a glyph that is a part of another one.
type component struct {
	glyph      uint16
	at         int // of the glyph's number in the description
	dx, dy     int16
	a, b, c, d float64
}

// components reads the parts of a composed glyph, and returns where their description ends.
func components(d []byte) (parts []component, end int) {
	r := reader(d[10:])
	for flags := uint16(more); flags&more != 0 && len(r) >= 4; {
		flags = r.word()
		p := component{at: len(d) - len(r), a: 1, d: 1}
		p.glyph = r.word()
		if flags&words != 0 {
			p.dx, p.dy = int16(r.word()), int16(r.word())
		} else {
			p.dx, p.dy = int16(int8(r.byte())), int16(int8(r.byte()))
		}
		if flags&offsets == 0 { // points that are to be matched: this font has none
			p.dx, p.dy = 0, 0
		}
		scale := func() float64 { return float64(int16(r.word())) / (1 << 14) }
		switch {
		case flags&oneScale != 0:
			p.a = scale()
			p.d = p.a
		case flags&twoScales != 0:
			p.a, p.d = scale(), scale()
		case flags&matrix != 0:
			p.a, p.b, p.c, p.d = scale(), scale(), scale(), scale()
		}
		parts = append(parts, p)
	}
	return parts, len(d) - len(r)
}

func (f *Font) composed(d []byte, depth int) (contours [][]Point) {
	parts, _ := components(d)
	for _, p := range parts {
		for _, c := range f.outline(p.glyph, depth+1) {
			moved := make([]Point, len(c))
			for i, q := range c {
				x, y := float64(q.X), float64(q.Y)
				moved[i] = Point{X: int16(p.a*x+p.c*y) + p.dx, Y: int16(p.b*x+p.d*y) + p.dy, On: q.On}
			}
			contours = append(contours, moved)
		}
	}
	return contours
}
