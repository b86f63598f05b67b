package canvas

import (
	"image"
	"math"
	"sync"

	"github.com/rondo-db/rondo/query/graph/canvas/internal/truetype"
)

// A look is all that decides what a glyph looks like in pixels.
type look struct {
	id           uint16
	face         faceID
	italic, hard bool
	angle        int16
	size         float32 // device pixels a em square
}

// A picture is a glyph in pixels. The origin of the glyph is at 0, 0.
type picture struct {
	image.Rectangle
	cover []uint8
}

// The pictures of glyphs that were drawn lately, for all canvases. When there are too many the
// cache begins anew.
var pictures = struct {
	sync.Mutex
	of     map[look]*picture
	pixels int
}{of: map[look]*picture{}}

// glyphShades is how many degrees of coverage the pixels of a glyph have. Nobody sees that they are
// not 255, but most graphs then have no more colours than a palette holds: their files are half as
// large, and packed sooner.
const glyphShades = 51

// Limits of the cache of pictures.
const (
	cachedPixels  = 8 << 20
	cachedPicture = 1 << 16 // larger ones are not kept
)

func pictureOf(k look) *picture {
	pictures.Lock()
	p := pictures.of[k]
	pictures.Unlock()
	if p != nil {
		return p
	}
	p = drawGlyph(k)
	if n := len(p.cover) + 64; n < cachedPicture {
		pictures.Lock()
		if pictures.pixels += n; pictures.pixels > cachedPixels {
			clear(pictures.of)
			pictures.pixels = n
		}
		pictures.of[k] = p
		pictures.Unlock()
	}
	return p
}

func drawGlyph(k look) *picture {
	contours := outlineOf(k)
	if len(contours) == 0 {
		return &picture{}
	}
	lo, hi := corners(contours...)
	box := image.Rect(int(math.Floor(lo.X)), int(math.Floor(lo.Y)), int(math.Ceil(hi.X)), int(math.Ceil(hi.Y)))
	p := &picture{Rectangle: box, cover: make([]uint8, box.Dx()*box.Dy())}
	s := scanner{hard: k.hard}
	for _, c := range contours {
		s.polygon(c, box)
	}
	s.scan(box, func(x, y int, cover []uint8) {
		at := (y-box.Min.Y)*box.Dx() + x - box.Min.X
		for i, c := range cover {
			p.cover[at+i] = uint8((int(c)*glyphShades + 127) / 255 * (255 / glyphShades))
		}
	})
	return p.turned(k.angle)
}

// outlineOf returns the outline of a glyph as polygons, in device pixels, y downward.
func outlineOf(k look) (contours [][]Point) {
	f := faces[k.face]()
	outline := f.Outline(k.id)
	scale := float64(k.size) / unitsPerEm
	high, wide := warp{scale: scale}, warp{scale: scale}
	if k.size >= minHinted && k.size <= maxHinted {
		// Hinted letters have the size of whole pixels that is nearest, as FreeType's.
		scale = math.Floor(float64(k.size)+0.5) / unitsPerEm
		wide.scale = scale
		high = fitHeights(outline, &f.measures, scale)
		if !k.italic {
			wide = fitWidths(outline, &f.measures, scale)
		}
	}
	move := func(p truetype.Point) Point {
		q := Point{wide.at(float64(p.X)), -high.at(float64(p.Y))}
		if k.italic {
			q.X += -q.Y*slant + slantShift*scale
		}
		return q
	}
	for _, c := range outline {
		if polygon := curve(c, move); len(polygon) > 2 {
			contours = append(contours, polygon)
		}
	}
	return contours
}

// curve returns a contour as a polygon.
func curve(c []truetype.Point, move func(truetype.Point) Point) (out []Point) {
	n := len(c)
	if n < 2 {
		return nil
	}
	half := func(a, b Point) Point { return Point{(a.X + b.X) / 2, (a.Y + b.Y) / 2} }
	last := c[n-1]
	from := move(last)
	if !last.On {
		if c[0].On {
			from = move(c[0])
		} else {
			from = half(from, move(c[0]))
		}
	}
	for i, p := range c {
		to := move(p)
		if p.On {
			out = append(out, to)
			from = to
			continue
		}
		control := to
		if next := c[(i+1)%n]; next.On {
			to = move(next)
		} else {
			to = half(control, move(next))
		}
		// The curve is this far from the line between its ends, about.
		bend := math.Hypot(from.X-2*control.X+to.X, from.Y-2*control.Y+to.Y)
		steps := int(math.Ceil(math.Sqrt(bend*4))) + 1
		for s := 1; s <= steps; s++ {
			t := float64(s) / float64(steps)
			out = append(out, Point{
				(1-t)*(1-t)*from.X + 2*t*(1-t)*control.X + t*t*to.X,
				(1-t)*(1-t)*from.Y + 2*t*(1-t)*control.Y + t*t*to.Y,
			})
		}
		from = to
	}
	return out
}

func (p *picture) turned(angle int16) *picture {
	w, h := p.Dx(), p.Dy()
	if angle == 0 {
		return p
	}
	q := &picture{Rectangle: image.Rect(p.Min.Y, -p.Max.X, p.Max.Y, -p.Min.X), cover: make([]uint8, w*h)}
	if angle < 0 {
		q.Rectangle = image.Rect(-p.Max.Y, p.Min.X, -p.Min.Y, p.Max.X)
	}
	for i, c := range p.cover {
		at := (w-1-i%w)*h + i/w
		if angle < 0 {
			at = w*h - 1 - at
		}
		q.cover[at] = c
	}
	return q
}

func (r *raster) Text(t Text) {
	l, ok := lay(t)
	if !ok {
		return
	}
	round := func(v float64) int { return int(math.Floor(v*r.zoom + 0.5)) }
	for _, g := range l.glyphs {
		if g.char == ' ' {
			continue
		}
		px := g.size * pixelsPerPoint * r.zoom
		if px > 2*MaxSide {
			continue
		}
		d := l.turn(Point{g.x, 0})
		x, y := round(l.origin.X+d.X), round(l.origin.Y+d.Y)
		if l.angle == 90 { // half a pixel goes forward in reading upward, too
			y = int(math.Ceil((l.origin.Y+d.Y)*r.zoom - 0.5))
		}
		reach := int(3*px) + 1
		if !image.Rect(x-reach, y-reach, x+reach, y+reach).Overlaps(r.clip) {
			continue
		}
		k := look{id: g.id, face: g.face, italic: g.italic, hard: r.hardText, size: float32(px)}
		if l.angle == 90 || l.angle == -90 {
			k.angle = int16(l.angle)
		}
		if px > maxPicture {
			r.large(k, x, y, premultiplied(g.color))
			continue
		}
		r.stamp(pictureOf(k), x, y, premultiplied(g.color))
	}
	for _, u := range l.rules() {
		p := l.corners(u)
		a, b := p[0], p[2]
		r.rectangle(Point{float64(round(min(a.X, b.X))), float64(round(min(a.Y, b.Y)))},
			Point{float64(round(max(a.X, b.X))), float64(round(max(a.Y, b.Y)))}, u.color)
	}
}

// maxPicture is the size in device pixels from which on glyphs are drawn without a picture of them.
const maxPicture = 160

// large draws a glyph whose origin is at x, y.
func (r *raster) large(k look, x, y int, c pixel) {
	l := line{angle: int(k.angle)}
	clip := r.clip
	hard := r.scanner.hard
	r.scanner.begin(false)
	for _, polygon := range outlineOf(k) {
		for i, p := range polygon {
			p = l.turn(p)
			polygon[i] = Point{p.X + float64(x), p.Y + float64(y)}
		}
		r.scanner.polygon(polygon, clip)
	}
	r.scanner.hard = k.hard
	r.scanner.scan(clip, func(x, y int, cover []uint8) { r.blend(x, y, cover, c) })
	r.scanner.hard = hard
}

// stamp paints the picture of a glyph whose origin is at x, y.
func (r *raster) stamp(p *picture, x, y int, c pixel) {
	box := p.Add(image.Pt(x, y)).Intersect(r.clip)
	for row := box.Min.Y; row < box.Max.Y; row++ {
		at := (row-y-p.Min.Y)*p.Dx() + box.Min.X - x - p.Min.X
		r.blend(box.Min.X, row, p.cover[at:at+box.Dx()], c)
	}
}
