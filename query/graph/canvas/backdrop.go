package canvas

import (
	"image"
	"math"
	"slices"
)

// A backdrop is the picture so far, in pixels. Its edges are hard, so that every pixel has a colour
// that was drawn and none has a mixture.
type backdrop struct {
	raster *raster
	scale  float64 // pixels of the backdrop to a pixel before zoom
}

// Limits of a backdrop.
const (
	backdropScale  = 2 // pixels to a pixel after zoom, if that is not too many
	backdropPixels = 1 << 22
	// If a shape lies on more runs of equal pixels or on more colours than these, it is drawn as if
	// the colour of the largest patch were everywhere below it.
	mostRuns    = 20_000
	mostColours = 64
)

func newBackdrop(width, height, zoom float64) *backdrop {
	scale := zoom * min(backdropScale, math.Sqrt(backdropPixels/(width*height))/zoom)
	w, h := max(1, int(math.Ceil(width*scale))), max(1, int(math.Ceil(height*scale)))
	return &backdrop{raster: newRaster(w, h, scale, Options{Hard: true, HardText: true}), scale: scale}
}

// A patch is where one colour lies below a shape.
type patch struct {
	colour pixel
	area   int
	where  []Rect // pixels before zoom
}

// over returns the colour c painted over the colour of the patch. The result is opaque.
func (p *patch) over(c Color) Color {
	d := []uint8{255, 255, 255, 255}
	over(d, p.colour)
	over(d, premultiplied(c))
	return Color{R: d[0], G: d[1], B: d[2], A: 255}
}

// under returns what lies below a shape of colour c within a box, the largest patch first. For an
// opaque colour it is one patch, whatever is there, and for a transparent one nothing.
func (b *backdrop) under(c Color, box Rect) []patch {
	switch c.A {
	case 0:
		return nil
	case 255:
		return []patch{{}}
	}
	px := image.Rect(int(math.Floor(box.Min.X*b.scale)), int(math.Floor(box.Min.Y*b.scale)),
		int(math.Ceil(box.Max.X*b.scale)), int(math.Ceil(box.Max.Y*b.scale))).Intersect(b.raster.clip)
	if px.Empty() {
		return []patch{{}}
	}
	s := sorter{scale: b.scale, index: map[pixel]int{}}
	for y := px.Min.Y; y < px.Max.Y && s.total <= mostRuns; y++ {
		for x := px.Min.X; x < px.Max.X; {
			c, from := b.raster.at(x, y), x
			for x++; x < px.Max.X && b.raster.at(x, y) == c; x++ {
			}
			s.add(c, image.Rect(from, y, x, y+1))
		}
		s.next()
	}
	s.next()
	slices.SortStableFunc(s.patches, func(a, b patch) int { return b.area - a.area })
	if s.total > mostRuns || len(s.patches) > mostColours {
		return s.patches[:1]
	}
	return s.patches
}

// A sorter sorts runs of equal pixels by their colour. Runs below each other become one rectangle.
type sorter struct {
	scale      float64
	patches    []patch
	index      map[pixel]int // of the patch of a colour
	above, row []run
	total      int // rectangles
}

// A run is pixels of one colour, in one row or in several below each other. Its patch is -1 when it
// has become a part of another run.
type run struct {
	image.Rectangle
	patch int
}

// add takes the next run of a row.
func (s *sorter) add(c pixel, r image.Rectangle) {
	i, ok := s.index[c]
	if !ok {
		i = len(s.patches)
		s.index[c] = i
		s.patches = append(s.patches, patch{colour: c})
	}
	n, found := slices.BinarySearchFunc(s.above, r.Min.X, func(o run, x int) int { return o.Min.X - x })
	if found && s.above[n].patch == i && s.above[n].Max.X == r.Max.X {
		r.Min.Y = s.above[n].Min.Y
		s.above[n].patch = -1
	}
	s.row = append(s.row, run{r, i})
}

// next begins a new row.
func (s *sorter) next() {
	for _, o := range s.above {
		if o.patch < 0 {
			continue
		}
		s.total++
		p := &s.patches[o.patch]
		p.area += o.Dx() * o.Dy()
		p.where = append(p.where, Rect{
			Point{float64(o.Min.X) / s.scale, float64(o.Min.Y) / s.scale},
			Point{float64(o.Max.X) / s.scale, float64(o.Max.Y) / s.scale},
		})
	}
	s.above, s.row = s.row, s.above[:0]
}

// at returns the colour of a pixel.
func (r *raster) at(x, y int) pixel {
	p := r.pix[4*(y*r.size.Dx()+x):]
	return pixel{p[0], p[1], p[2], p[3]}
}

// around returns the box around paths, and some pixels more.
func around(more float64, paths ...[]Point) Rect {
	var all []Point
	for _, path := range paths {
		all = append(all, device(path, 1, nil)...)
	}
	if len(all) == 0 {
		return Rect{}
	}
	lo, hi := corners(all)
	return Rect{Point{lo.X - more, lo.Y - more}, Point{hi.X + more, hi.Y + more}}
}
