package canvas

import (
	"cmp"
	"image"
	"math"
	"slices"
)

// Shapes are scanned along horizontal lines, subLines of them in a row of pixels. The places where
// a line enters and leaves the shape are known to 1/subPixels of a pixel.
const (
	subLines  = 16
	subPixels = 256
	whole     = subLines * subPixels // what a wholly covered pixel adds up to
)

// An edge is a straight line between two scan lines, with the direction that it had in its path.
type edge struct {
	first, last int32 // scan lines, both crossed
	dir         int32
	slanted     bool
	x, step     int64 // where it crosses the next scan line, and how that changes; 1/2^32 pixel
}

// A scanner turns polygons into covered pixels. It is used again and again, one shape at a time.
type scanner struct {
	edges  []edge
	spare  []edge  // where order puts them
	counts []int32 // of order
	fresh  []edge  // those that merge puts among the active ones
	active []edge  // those that cross the scan line, from left to right
	until  int32   // the scan line at which the first of them ends
	sum    []int32 // differences of coverage along one row of pixels
	row    []uint8
	hard   bool // pixels are covered or not
	turned bool // x and y are exchanged: columns of pixels are scanned
}

func (s *scanner) begin(turned bool) { s.edges, s.turned = s.edges[:0], turned }

// steep reports whether the edges of a shape with this path, or line, are much higher than wide.
// Its columns are scanned then: the line of a graph goes up and down hundreds of times, but crosses
// a column only once.
func steep(p []Point) bool {
	across, along := 0.0, 0.0
	for i := 1; i < len(p); i++ {
		across += math.Abs(p[i].X - p[i-1].X)
		along += math.Abs(p[i].Y - p[i-1].Y)
	}
	return along > 2*across
}

// turned returns a rectangle with x and y exchanged.
func turned(r image.Rectangle) image.Rectangle {
	return image.Rect(r.Min.Y, r.Min.X, r.Max.Y, r.Max.X)
}

// polygon adds a closed polygon, in device pixels. Only its edges between the heights of clip are
// kept.
func (s *scanner) polygon(p []Point, clip image.Rectangle) {
	if s.turned {
		clip = turned(clip)
		for i, q := range p {
			p[i] = Point{q.Y, q.X}
		}
	}
	left, right := math.Inf(1), math.Inf(-1)
	for _, q := range p {
		left, right = min(left, q.X), max(right, q.X)
	}
	if right <= float64(clip.Min.X) || left >= float64(clip.Max.X) {
		return
	}
	for i, b := range p {
		a := p[(i+len(p)-1)%len(p)]
		s.edge(a, b, clip)
	}
}

func (s *scanner) edge(a, b Point, clip image.Rectangle) {
	dir := int32(1)
	if a.Y > b.Y {
		a, b, dir = b, a, -1
	}
	// Lines lie in the middle of their part of a pixel.
	first := max(int64(math.Ceil(a.Y*subLines-0.5)), int64(clip.Min.Y)*subLines)
	last := min(int64(math.Ceil(b.Y*subLines-0.5)), int64(clip.Max.Y)*subLines) - 1
	if first > last {
		return
	}
	e := edge{first: int32(first), last: int32(last), dir: dir}
	slope := (b.X - a.X) / (b.Y - a.Y)
	e.slanted = a.X != b.X
	e.x = int64((a.X + slope*((float64(first)+0.5)/subLines-a.Y)) * (1 << 32))
	e.step = int64(slope / subLines * (1 << 32))
	s.edges = append(s.edges, e)
}

// scan calls paint for every row of pixels that the shape touches, with the coverage of the pixels
// from x on, 0 to 255, within clip. The slice is valid during the call. If columns are scanned, x
// and y are exchanged, of clip too.
func (s *scanner) scan(clip image.Rectangle, paint func(x, y int, cover []uint8)) {
	if len(s.edges) == 0 || clip.Empty() {
		return
	}
	s.order()
	width := clip.Dx()
	if len(s.sum) < width+2 {
		s.sum, s.row = make([]int32, width+2), make([]uint8, width+2)
	}
	s.active, s.until = s.active[:0], math.MaxInt32
	next := 0
	for y := int(s.edges[0].first) / subLines; y < clip.Max.Y && (next < len(s.edges) || len(s.active) > 0); y++ {
		line, end := int32(y*subLines), int32((y+1)*subLines)
		if len(s.active) == 0 && s.edges[next].first >= end {
			y = int(s.edges[next].first)/subLines - 1
			continue
		}
		lo, hi := width, 0
		for line < end {
			if line > s.until {
				s.drop(line)
			}
			old := len(s.active)
			for next < len(s.edges) && s.edges[next].first <= line {
				s.active = append(s.active, s.edges[next])
				s.until = min(s.until, s.edges[next].last)
				next++
			}
			s.merge(old)
			lines := s.alike(line, end, next)
			a, b := s.line(clip.Min.X, width, int32(lines))
			lo, hi = min(lo, a), max(hi, b)
			line += int32(lines)
		}
		if lo < hi {
			s.flush(lo, hi)
			paint(clip.Min.X+lo, y, s.row[lo:hi])
		}
	}
}

// countedEdges is how many edges are put in order by counting. Fewer are compared.
const countedEdges = 32

// order puts the edges in the order of their first scan lines.
func (s *scanner) order() {
	least, most := s.edges[0].first, s.edges[0].first
	for i := range s.edges {
		least, most = min(least, s.edges[i].first), max(most, s.edges[i].first)
	}
	n := int(most-least) + 1
	if len(s.edges) < countedEdges || n > 16*len(s.edges) {
		slices.SortFunc(s.edges, func(a, b edge) int { return int(a.first - b.first) })
		return
	}
	s.counts = slices.Grow(s.counts[:0], n)[:n]
	clear(s.counts)
	for i := range s.edges {
		s.counts[s.edges[i].first-least]++
	}
	place := int32(0)
	for i, c := range s.counts {
		s.counts[i] = place
		place += c
	}
	s.spare = slices.Grow(s.spare[:0], len(s.edges))[:len(s.edges)]
	for i := range s.edges {
		at := &s.counts[s.edges[i].first-least]
		s.spare[*at] = s.edges[i]
		*at++
	}
	s.edges, s.spare = s.spare, s.edges
}

// merge puts the edges from old on among those before, which were in order one scan line above.
func (s *scanner) merge(old int) {
	fresh := s.active[old:]
	if len(fresh) == 0 {
		return
	}
	settle(fresh)
	if old == 0 {
		return
	}
	settle(s.active[:old])
	s.fresh = append(s.fresh[:0], fresh...)
	to := len(s.active) - 1
	for i, j := old-1, len(s.fresh)-1; j >= 0; to-- {
		if i >= 0 && s.active[i].x > s.fresh[j].x {
			s.active[to] = s.active[i]
			i--
		} else {
			s.active[to] = s.fresh[j]
			j--
		}
	}
}

// settle sorts edges that are nearly in order from left to right.
func settle(edges []edge) {
	moves := 8 * len(edges)
	for i := 1; i < len(edges); i++ {
		if edges[i-1].x <= edges[i].x {
			continue
		}
		e, j := edges[i], i
		for ; j > 0 && edges[j-1].x > e.x; j-- {
			edges[j] = edges[j-1]
		}
		edges[j] = e
		if moves -= i - j; moves < 0 { // they are not
			slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.x, b.x) })
			return
		}
	}
}

// drop takes out the edges that end above a scan line.
func (s *scanner) drop(line int32) {
	kept := s.active[:0]
	s.until = math.MaxInt32
	for i := range s.active {
		if e := &s.active[i]; e.last >= line {
			s.until = min(s.until, e.last)
			kept = append(kept, *e)
		}
	}
	s.active = kept
}

// alike returns the number of scan lines from line on that cross the shape at the same places.
func (s *scanner) alike(line, end int32, next int) int {
	if next < len(s.edges) {
		end = min(end, s.edges[next].first)
	}
	for i := range s.active {
		if s.active[i].slanted {
			return 1
		}
		end = min(end, s.active[i].last+1)
	}
	return int(max(1, end-line))
}

// line adds a number of equal scan lines to the sums of the row. It returns the pixels that they
// touch.
func (s *scanner) line(left, width int, lines int32) (lo, hi int) {
	// The edges are nearly in order from the line before.
	settle(s.active)
	lo, hi = width, 0
	winding, from := int32(0), 0
	most := width * subPixels
	for i := range s.active {
		e := &s.active[i]
		x := min(max(int(e.x>>24)-left*subPixels, 0), most)
		e.x += e.step
		before := winding
		winding += e.dir
		switch {
		case before == 0:
			from = x
		case winding == 0 && x > from:
			s.add(from, lines)
			s.add(x, -lines)
			lo, hi = min(lo, from/subPixels), max(hi, (x+subPixels-1)/subPixels)
		}
	}
	return lo, hi
}

// add begins a covered stretch at x, or ends one with a negative number of lines.
func (s *scanner) add(x int, lines int32) {
	i, part := x/subPixels, int32(x%subPixels)
	s.sum[i] += (subPixels - part) * lines
	s.sum[i+1] += part * lines
}

// flush adds the sums up to coverage, and clears them.
func (s *scanner) flush(lo, hi int) {
	total := int32(0)
	for i := lo; i < hi; i++ {
		total += s.sum[i]
		s.sum[i] = 0
		s.row[i] = uint8((total*255 + whole/2) / whole)
	}
	s.sum[hi], s.sum[hi+1] = 0, 0
	if s.hard {
		harden(s.row[lo:hi])
	}
}

// harden makes covered what is covered by half, and the rest not.
func harden(cover []uint8) {
	for i, c := range cover {
		cover[i] = uint8(int8(c) >> 7) // 255 from 128 on
	}
}
