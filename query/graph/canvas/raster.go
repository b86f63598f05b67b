package canvas

import (
	"encoding/binary"
	"image"
	"io"
	"math"
	"slices"
)

// A raster draws into pixels.
type raster struct {
	pix      []uint8 // red, green, blue, alpha; multiplied by alpha
	size     image.Rectangle
	zoom     float64
	clip     image.Rectangle
	scanner  scanner
	points   []Point
	mask     mask
	hardText bool
}

func newRaster(w, h int, zoom float64, o Options) *raster {
	r := new(raster)
	select {
	case r = <-rasters:
	default:
	}
	r.pix = slices.Grow(r.pix[:0], 4*w*h)[:4*w*h]
	clear(r.pix)
	r.size, r.zoom, r.scanner.hard, r.hardText = image.Rect(0, 0, w, h), zoom, o.Hard, o.HardText
	r.clip = r.size
	return r
}

// rasters are kept for the next pictures, as encoders are.
var rasters = make(chan *raster, 2)

// keep keeps a raster that nobody draws into any more.
func (r *raster) keep() { putBack(rasters, r, cap(r.pix)) }

// A bitmap draws into the raster that it has until Encode.
type bitmap struct{ *raster }

func (b *bitmap) Encode(w io.Writer) error {
	r := b.raster
	b.raster = nil // another picture may have it next
	defer r.keep()
	return r.encode(w)
}

func (r *raster) Fit() bool                      { return true }
func (r *raster) Len() int                       { return 0 }
func (r *raster) Group(_, _ string, draw func()) { draw() }

func (r *raster) Clip(c Rect, draw func()) {
	p := device([]Point{c.Min, c.Max}, r.zoom, nil)
	next := image.Rectangle{}
	if len(p) == 2 {
		round := func(v float64) int { return int(math.Floor(v + 0.5)) }
		next = image.Rect(round(p[0].X), round(p[0].Y), round(p[1].X), round(p[1].Y)).Intersect(r.clip)
	}
	outer := r.clip
	r.clip = next
	draw()
	r.clip = outer
}

func (r *raster) Fill(c Color, paths ...[]Point) {
	if c.A == 0 {
		return
	}
	if len(paths) == 1 {
		r.points = device(paths[0], r.zoom, r.points)
		if a, b, ok := upright(r.points); ok {
			r.rectangle(a, b, c)
			return
		}
	}
	r.scanner.begin(len(paths) == 1 && steep(r.points))
	box := image.Rectangle{}
	for _, path := range paths {
		if r.points = device(path, r.zoom, r.points); len(r.points) > 0 {
			box = box.Union(r.box(0))
			r.scanner.polygon(r.points, r.clip)
		}
	}
	r.paint(premultiplied(c), box)
}

// box returns the pixels within the clip that a line of some half width through r.points may touch.
func (r *raster) box(half float64) image.Rectangle {
	lo, hi := corners(r.points)
	return image.Rect(int(math.Floor(lo.X-half)), int(math.Floor(lo.Y-half)), int(math.Ceil(hi.X+half)), int(math.Ceil(hi.Y+half))).Intersect(r.clip)
}

// paint paints the shape in the scanner, which lies within a box.
func (r *raster) paint(c pixel, box image.Rectangle) {
	if !r.scanner.turned {
		r.scanner.scan(box, func(x, y int, cover []uint8) { r.blend(x, y, cover, c) })
		return
	}
	m := &r.mask
	m.reset(box)
	r.scanner.scan(turned(box), func(y, x int, cover []uint8) {
		at := (y-box.Min.Y)*box.Dx() + x - box.Min.X
		for _, v := range cover {
			m.cover[at] = v
			at += box.Dx()
		}
	})
	r.blendMask(c)
}

// blendMask puts a colour over the pixels of the mask.
func (r *raster) blendMask(c pixel) {
	m := &r.mask
	for y := m.Min.Y; y < m.Max.Y; y++ {
		at := (y - m.Min.Y) * m.Dx()
		r.blend(m.Min.X, y, m.cover[at:at+m.Dx()], c)
	}
}

func (r *raster) Gradient(path []Point, y1 float64, c1 Color, y2 float64, c2 Color) {
	shade := shader(y1*r.zoom, c1, y2*r.zoom, c2)
	r.points = device(path, r.zoom, r.points)
	r.scanner.begin(false)
	r.scanner.polygon(r.points, r.clip)
	r.scanner.scan(r.clip, func(x, y int, cover []uint8) {
		r.blend(x, y, cover, premultiplied(shade(float64(y)+0.5)))
	})
}

// shader returns the colours of a gradient by height.
func shader(y1 float64, c1 Color, y2 float64, c2 Color) func(y float64) Color {
	return func(y float64) Color {
		f := (y - y1) / (y2 - y1)
		if math.IsNaN(f) || math.IsInf(f, 0) { // both ends at one height, or nowhere
			f = 0
			if y > y2 {
				f = 1
			}
		}
		f = min(max(f, 0), 1)
		mix := func(a, b uint8) uint8 { return uint8(float64(a) + (float64(b)-float64(a))*f + 0.5) }
		return Color{R: mix(c1.R, c2.R), G: mix(c1.G, c2.G), B: mix(c1.B, c2.B), A: mix(c1.A, c2.A)}
	}
}

func (r *raster) Stroke(s Stroke, path []Point) {
	half := s.Width * r.zoom / 2
	if s.Color.A == 0 || !(half > 0) || half > farAway {
		return
	}
	if r.scanner.hard { // a thinner line would be seen here and there
		half = max(half, 0.5)
	}
	r.points = device(path, r.zoom, r.points)
	if len(r.points) == 0 {
		return
	}
	dash := make([]float64, len(s.Dash))
	for i, d := range s.Dash {
		dash[i] = d * r.zoom
	}
	if half < maxStairs && stairs(r.points) {
		r.strokeStairs(s, half, dash)
		return
	}
	reach := half
	if s.Join == MiterJoin { // corners are pointed
		reach *= miterLimit
	}
	box := r.box(reach)
	r.scanner.begin(steep(r.points))
	o := outliner{half: half, cap: s.Cap, join: s.Join, emit: func(p []Point) { r.scanner.polygon(p, box) }}
	dashed(r.points, dash, s.DashOffset*r.zoom, o.line)
	r.paint(premultiplied(s.Color), box)
}

// A pixel is a colour multiplied by its alpha.
type pixel struct{ r, g, b, a uint8 }

func premultiplied(c Color) pixel {
	return pixel{mul(c.R, c.A), mul(c.G, c.A), mul(c.B, c.A), c.A}
}

// mul multiplies two fractions of 255, rounded.
func mul(a, b uint8) uint8 {
	t := uint32(a)*uint32(b) + 0x80
	return uint8((t + t>>8) >> 8)
}

// blend puts a colour over pixels of one row, as far as they are covered.
func (r *raster) blend(x, y int, cover []uint8, c pixel) {
	at := 4 * (y*r.size.Dx() + x)
	dst := r.pix[at : at+4*len(cover)]
	colour := uint64(c.r) | uint64(c.g)<<8 | uint64(c.b)<<16 | 255<<24
	for i := 0; i < len(cover); i++ {
		v := cover[i]
		if (v == 0 || v == 255 && c.a == 255) && i+8 <= len(cover) && binary.LittleEndian.Uint64(cover[i:]) == uint64(v)*0x0101010101010101 {
			for k := 0; k < 32 && v > 0; k += 8 {
				binary.LittleEndian.PutUint64(dst[4*i+k:], colour<<32|colour)
			}
			i += 7
			continue
		}
		switch {
		case v == 0:
		case v == 255 && c.a == 255:
			d := dst[4*i : 4*i+4 : 4*i+4]
			d[0], d[1], d[2], d[3] = c.r, c.g, c.b, 255
		default:
			d := dst[4*i : 4*i+4 : 4*i+4]
			if v == 255 {
				over(d, c)
			} else {
				over(d, pixel{mul(c.r, v), mul(c.g, v), mul(c.b, v), mul(c.a, v)})
			}
		}
	}
}

// over puts a colour over one pixel.
func over(d []uint8, c pixel) {
	rest := 255 - c.a
	d[0], d[1], d[2], d[3] = c.r+mul(d[0], rest), c.g+mul(d[1], rest), c.b+mul(d[2], rest), c.a+mul(d[3], rest)
}
