package canvas

import (
	"cmp"
	"image"
	"math"
)

// Most of a graph is upright: rectangles, rules, and lines that go in steps. What they cover is
// known without scanning, which takes twice as long for a picture of such lines (BenchmarkDraw).

// A mask is how much of each pixel of a rectangle is covered.
type mask struct {
	image.Rectangle
	cover []uint8
	discs map[discKey]*picture
	// recent are discs of the map, by their corner: the ends of dashes are mostly the same.
	recent [9]struct {
		key  discKey
		disc *picture
	}
}

// reset makes the mask empty, of a rectangle.
func (m *mask) reset(r image.Rectangle) {
	m.Rectangle = r
	n := r.Dx() * r.Dy()
	if cap(m.cover) < n {
		m.cover = make([]uint8, n)
		return
	}
	m.cover = m.cover[:n]
	clear(m.cover)
}

// upright reports whether a closed path is an upright rectangle, and returns two corners.
func upright(p []Point) (a, b Point, ok bool) {
	if len(p) == 5 && p[4] == p[0] {
		p = p[:4]
	}
	if len(p) != 4 {
		return a, b, false
	}
	a, b = p[0], p[2]
	ok = p[1] == Point{b.X, a.Y} && p[3] == Point{a.X, b.Y} || p[1] == Point{a.X, b.Y} && p[3] == Point{b.X, a.Y}
	return Point{min(a.X, b.X), min(a.Y, b.Y)}, Point{max(a.X, b.X), max(a.Y, b.Y)}, ok
}

// rectangle fills an upright rectangle.
func (r *raster) rectangle(a, b Point, c Color) {
	clip := r.clip
	a, b = Point{max(a.X, float64(clip.Min.X)), max(a.Y, float64(clip.Min.Y))}, Point{min(b.X, float64(clip.Max.X)), min(b.Y, float64(clip.Max.Y))}
	if a.X >= b.X || a.Y >= b.Y {
		return
	}
	p := premultiplied(c)
	x0, x1 := int(math.Floor(a.X)), int(math.Ceil(b.X))
	wide := make([]uint8, 2*(x1-x0))
	row := wide[x1-x0:]
	wide = wide[:x1-x0]
	for i := range wide {
		wide[i] = part(a.X, b.X, x0+i)
	}
	above := uint8(0) // how much of the row of pixels above is covered; row is empty
	for y := int(math.Floor(a.Y)); y < int(math.Ceil(b.Y)); y++ {
		if high := part(a.Y, b.Y, y); high != above {
			above = high
			for i, w := range wide {
				row[i] = mul(w, high)
			}
			if r.scanner.hard {
				harden(row)
			}
		}
		r.blend(x0, y, row, p)
	}
}

// part returns how much of the pixel from at on lies between a and b, as a fraction of 255.
func part(a, b float64, at int) uint8 {
	return uint8(255*max(0, min(b, float64(at+1))-max(a, float64(at))) + 0.5)
}

// maxStairs is half the width of lines that are scanned nevertheless: large discs take long.
const maxStairs = 8

// stairs reports whether a line goes only up and down, left and right.
func stairs(p []Point) bool {
	for i := 1; i < len(p); i++ {
		if p[i].X != p[i-1].X && p[i].Y != p[i-1].Y {
			return false
		}
	}
	return len(p) > 1
}

// strokeStairs draws the line through r.points, which goes in steps.
func (r *raster) strokeStairs(s Stroke, half float64, dash []float64) {
	box := r.box(half)
	if box.Empty() {
		return
	}
	m := &r.mask
	m.reset(box)
	dashed(r.points, dash, s.DashOffset*r.zoom, func(p []Point) { m.steps(p, half, s.Cap, s.Join) })
	if r.scanner.hard {
		harden(m.cover)
	}
	r.blendMask(premultiplied(s.Color))
}

// steps covers one piece of a line in steps.
func (m *mask) steps(p []Point, half float64, c Cap, j Join) {
	if len(p) == 1 {
		if c == RoundCap {
			m.disc(p[0], half, Point{-1, -1}, Point{1, 1}, false)
		}
		return
	}
	direction := func(i int) Point { return Point{sign(p[i].X - p[i-1].X), sign(p[i].Y - p[i-1].Y)} }
	for i := 1; i < len(p); i++ {
		a, d := p[i-1], direction(i)
		for i+1 < len(p) && direction(i+1) == d {
			i++
		}
		b := p[i]
		m.add(min(a.X, b.X)-half*math.Abs(d.Y), min(a.Y, b.Y)-half*math.Abs(d.X), max(a.X, b.X)+half*math.Abs(d.Y), max(a.Y, b.Y)+half*math.Abs(d.X))
	}
	// Corners and ends lie beside the stretches.
	for i := 2; i < len(p); i++ {
		m.turn(p[i-1], direction(i-1), direction(i), half, j)
	}
	last := len(p) - 1
	switch {
	case len(p) > 4 && p[0] == p[last]:
		m.turn(p[0], direction(last), direction(1), half, j)
	case c == RoundCap:
		d := direction(1)
		m.end(p[0], Point{-d.X, -d.Y}, half)
		m.end(p[last], direction(last), half)
	}
}

// turn covers the outer side of a corner.
func (m *mask) turn(at, a, b Point, half float64, j Join) {
	out := Point{a.X - b.X, a.Y - b.Y} // one of ±1, ±1, or two back on itself
	switch {
	case a == b:
	case a.X == -b.X && a.Y == -b.Y:
		if j == RoundJoin {
			m.end(at, a, half)
		}
	default:
		m.disc(at, half, Point{min(out.X, 0), min(out.Y, 0)}, Point{max(out.X, 0), max(out.Y, 0)}, j != RoundJoin)
	}
}

// end covers half a disc around the end of a line that went in direction d.
func (m *mask) end(at, d Point, half float64) {
	m.disc(at, half, Point{min(d.X, 0) - math.Abs(d.Y), min(d.Y, 0) - math.Abs(d.X)}, Point{max(d.X, 0) + math.Abs(d.Y), max(d.Y, 0) + math.Abs(d.X)}, false)
}

// add covers a rectangle. What is covered already and what is added are taken to be independent.
func (m *mask) add(x0, y0, x1, y1 float64) {
	x0, y0 = max(x0, float64(m.Min.X)), max(y0, float64(m.Min.Y))
	x1, y1 = min(x1, float64(m.Max.X)), min(y1, float64(m.Max.Y))
	if x0 >= x1 || y0 >= y1 {
		return
	}
	for y := int(math.Floor(y0)); y < int(math.Ceil(y1)); y++ {
		high := part(y0, y1, y)
		row := m.cover[(y-m.Min.Y)*m.Dx():]
		for x := int(math.Floor(x0)); x < int(math.Ceil(x1)); x++ {
			c := &row[x-m.Min.X]
			*c += mul(255-*c, mul(part(x0, x1, x), high))
		}
	}
}

// discSamples is the number of places, in each direction, at which a pixel of a disc is looked at.
const discSamples = 8

// discPlaces is the number of places in a pixel, in each direction, where discs are centred.
const discPlaces = 32

// A discKey is all that decides what a part of a disc covers.
type discKey struct {
	x, y   int8 // of the centre in its pixel
	radius float32
	lo, hi [2]int8 // corners of the part, in radii
	square bool    // the part is not round
}

// maxDiscs is how many parts of discs a mask remembers.
const maxDiscs = 256

// disc covers the part of a disc, or of the square around it, that lies between two corners, given
// in radii from its centre. The part lies beside the line, and is added to what that covers.
func (m *mask) disc(at Point, radius float64, lo, hi Point, square bool) {
	x, y := math.Floor(at.X), math.Floor(at.Y)
	k := discKey{
		int8((at.X-x)*discPlaces + 0.5), int8((at.Y-y)*discPlaces + 0.5), float32(radius),
		[2]int8{int8(lo.X), int8(lo.Y)},
		[2]int8{int8(hi.X), int8(hi.Y)},
		square,
	}
	last := &m.recent[k.lo[0]+1+3*(k.lo[1]+1)]
	p := last.disc
	if p == nil || last.key != k {
		if p = m.discs[k]; p == nil {
			p = drawDisc(k)
			if m.discs == nil || len(m.discs) >= maxDiscs {
				m.discs = map[discKey]*picture{}
			}
			m.discs[k] = p
		}
		last.key, last.disc = k, p
	}
	box := p.Add(image.Pt(int(x), int(y))).Intersect(m.Rectangle)
	for row := box.Min.Y; row < box.Max.Y; row++ {
		from := (row-int(y)-p.Min.Y)*p.Dx() + box.Min.X - int(x) - p.Min.X
		to := (row-m.Min.Y)*m.Dx() + box.Min.X - m.Min.X
		for i := range box.Dx() {
			c := &m.cover[to+i]
			*c = uint8(min(255, int(*c)+int(p.cover[from+i])))
		}
	}
}

// drawDisc draws a part of a disc whose centre is in the pixel 0, 0.
func drawDisc(k discKey) *picture {
	at, radius := Point{float64(k.x) / discPlaces, float64(k.y) / discPlaces}, float64(k.radius)
	x0, x1 := at.X+float64(k.lo[0])*radius, at.X+float64(k.hi[0])*radius
	y0, y1 := at.Y+float64(k.lo[1])*radius, at.Y+float64(k.hi[1])*radius
	p := &picture{Rectangle: image.Rect(int(math.Floor(x0)), int(math.Floor(y0)), int(math.Ceil(x1)), int(math.Ceil(y1)))}
	for y := p.Min.Y; y < p.Max.Y; y++ {
		for x := p.Min.X; x < p.Max.X; x++ {
			n := 0
			// Samples lie in what the corners leave of the pixel.
			l, r := max(x0, float64(x)), min(x1, float64(x+1))
			t, b := max(y0, float64(y)), min(y1, float64(y+1))
			for i := range discSamples * discSamples {
				px := l + (r-l)*(float64(i%discSamples)+0.5)/discSamples - at.X
				py := t + (b-t)*(float64(i/discSamples)+0.5)/discSamples - at.Y
				if k.square || px*px+py*py <= radius*radius {
					n++
				}
			}
			p.cover = append(p.cover, uint8(255*(r-l)*(b-t)*float64(n)/(discSamples*discSamples)+0.5))
		}
	}
	return p
}

func sign(v float64) float64 { return float64(cmp.Compare(v, 0)) }
