package canvas

import "math"

// outline appends polygons that together cover a line. They overlap and all turn the same way, so
// that a place is filled if any of them covers it.
type outliner struct {
	half  float64 // the width
	cap   Cap
	join  Join
	emit  func(polygon []Point)
	piece []Point
}

// miterLimit is how many times half of the line's width a corner may be long. Longer ones are cut
// off.
const miterLimit = 10

// arcError is how far an arc may be from its circle, in pixels.
const arcError = 0.03

// line outlines one line through points without repetitions.
func (o *outliner) line(p []Point) {
	closed := len(p) > 3 && p[0] == p[len(p)-1]
	if len(p) == 1 {
		if o.cap == RoundCap {
			o.arc(p[0], Point{o.half, 0}, 2*math.Pi)
		}
		return
	}
	var first, last Point // across the stretches, as long as half the width
	for i := 1; i < len(p); i++ {
		dx, dy := p[i].X-p[i-1].X, p[i].Y-p[i-1].Y
		k := o.half / math.Hypot(dx, dy)
		n := Point{dy * k, -dx * k}
		// A corner comes before its second stretch: edges of lines that go from left to right are
		// nearly in order then, for the scanner.
		if i == 1 {
			first = n
		} else {
			o.corner(p[i-1], last, n)
		}
		a, b := p[i-1], p[i]
		o.polygon(Point{a.X + n.X, a.Y + n.Y}, Point{b.X + n.X, b.Y + n.Y}, Point{b.X - n.X, b.Y - n.Y}, Point{a.X - n.X, a.Y - n.Y})
		last = n
	}
	switch {
	case closed:
		o.corner(p[0], last, first)
	case o.cap == RoundCap:
		o.arc(p[0], Point{-first.X, -first.Y}, math.Pi)
		o.arc(p[len(p)-1], last, math.Pi)
	}
}

// corner fills the outer side of a corner between stretches with the normals a and b.
func (o *outliner) corner(at, a, b Point) {
	cross, dot := a.X*b.Y-a.Y*b.X, a.X*b.X+a.Y*b.Y
	if cross == 0 && dot > 0 {
		return
	}
	if cross < 0 { // the outer side is the other one
		a, b = Point{-b.X, -b.Y}, Point{-a.X, -a.Y}
	}
	turn := math.Atan2(math.Abs(cross), dot)
	if o.join == RoundJoin {
		o.arc(at, a, turn)
		return
	}
	tip := 1 / math.Cos(turn/2) // over half the width
	if !(tip < miterLimit) {
		o.polygon(at, Point{at.X + a.X, at.Y + a.Y}, Point{at.X + b.X, at.Y + b.Y})
		return
	}
	k := tip * tip / 2
	o.polygon(at, Point{at.X + a.X, at.Y + a.Y}, Point{at.X + (a.X+b.X)*k, at.Y + (a.Y+b.Y)*k}, Point{at.X + b.X, at.Y + b.Y})
}

// arc fills a sector around at, from the radius r on, clockwise as one sees it.
func (o *outliner) arc(at, r Point, angle float64) {
	step := math.Pi / 2
	if o.half > arcError {
		step = min(step, 2*math.Acos(1-arcError/o.half))
	}
	n := int(math.Ceil(angle / step))
	o.piece = append(o.piece[:0], at)
	for i := range n + 1 {
		sin, cos := math.Sincos(angle * float64(i) / float64(n))
		o.piece = append(o.piece, Point{at.X + r.X*cos - r.Y*sin, at.Y + r.X*sin + r.Y*cos})
	}
	o.emit(o.piece)
}

func (o *outliner) polygon(p ...Point) {
	o.piece = append(o.piece[:0], p...) // so that p stays on the stack
	o.emit(o.piece)
}

// maxDashes is the number of dashes from which on a line is drawn without gaps.
const maxDashes = 40_000

// minPeriod is the length of a pattern of dashes below which a line is drawn without gaps.
const minPeriod = 0.05

// dashed calls emit with the pieces of a line that are drawn.
func dashed(p []Point, dash []float64, offset float64, emit func([]Point)) {
	total, length := 0.0, 0.0
	for _, d := range dash {
		if !(d >= 0) || math.IsInf(d, 0) {
			total = math.NaN()
		}
		total += d
	}
	for i := 1; i < len(p); i++ {
		length += math.Hypot(p[i].X-p[i-1].X, p[i].Y-p[i-1].Y)
	}
	if len(dash) == 0 || len(p) < 2 || !(total >= minPeriod) || !(length/total*float64(len(dash)) < maxDashes) {
		emit(p)
		return
	}
	// Where the line begins in the pattern. A pattern of odd length is drawn and left out in turn.
	if math.IsNaN(offset) || math.IsInf(offset, 0) {
		offset = 0
	}
	i := 0
	offset = math.Mod(offset, 2*total)
	if offset < 0 {
		offset += 2 * total
	}
	for offset >= dash[i%len(dash)] {
		offset -= dash[i%len(dash)]
		i++
		if i > 2*len(dash) { // rounding
			offset = 0
			break
		}
	}
	left := dash[i%len(dash)] - offset
	piece := append(make([]Point, 0, 4), p[0])
	for k := 1; k < len(p); k++ {
		a, b := p[k-1], p[k]
		stretch := math.Hypot(b.X-a.X, b.Y-a.Y)
		at := 0.0
		for stretch-at >= left { // a dash that begins where the line ends is a dot
			at += left
			q := Point{a.X + (b.X-a.X)*at/stretch, a.Y + (b.Y-a.Y)*at/stretch}
			if i%2 == 0 {
				piece = append(piece, q)
				emit(distinct(piece))
			}
			piece = append(piece[:0], q)
			i++
			left = dash[i%len(dash)]
		}
		left -= stretch - at
		piece = append(piece, b)
	}
	if i%2 == 0 {
		emit(distinct(piece))
	}
}

// corners returns the corners of the box around points; there is one at least.
func corners(paths ...[]Point) (lo, hi Point) {
	lo, hi = paths[0][0], paths[0][0]
	for _, path := range paths {
		for _, p := range path {
			lo, hi = Point{min(lo.X, p.X), min(lo.Y, p.Y)}, Point{max(hi.X, p.X), max(hi.Y, p.Y)}
		}
	}
	return lo, hi
}

// distinct leaves out points that are the same as the one before, in place.
func distinct(p []Point) []Point {
	out := p[:1]
	for _, q := range p[1:] {
		if q != out[len(out)-1] {
			out = append(out, q)
		}
	}
	return out
}

// farAway is the largest coordinate that is drawn, in device pixels.
const farAway = 1 << 20

// device returns the points of a path in device pixels, without repetitions and without those that
// are not a number. Places far outside of the picture are moved nearer.
func device(path []Point, zoom float64, buf []Point) []Point {
	buf = buf[:0]
	for _, p := range path {
		q := Point{p.X * zoom, p.Y * zoom}
		if math.IsNaN(q.X) || math.IsNaN(q.Y) {
			continue
		}
		q.X, q.Y = min(max(q.X, -farAway), farAway), min(max(q.Y, -farAway), farAway)
		if len(buf) == 0 || buf[len(buf)-1] != q {
			buf = append(buf, q)
		}
	}
	return buf
}
