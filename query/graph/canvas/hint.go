package canvas

import (
	"cmp"
	"math"
	"slices"

	"github.com/rondo-db/rondo/query/graph/canvas/internal/truetype"
)

// Small text is sharp if the bars of its letters lie on whole pixels. The font's own instructions
// for that need an interpreter; this file finds the bars in the outlines instead, as automatic
// hinters do, and moves them: the outline is stretched and pressed between them.
//
// A bar is what lies between two edges of an outline that run in parallel. Edges at the heights
// where all letters end (baseline, height of x, top of H, …) go to the same pixel in all of them.

// maxHinted is the size in device pixels from which on glyphs are drawn as they are.
const maxHinted = 60

// minHinted is the size in device pixels below which hinting would make letters unlike themselves.
const minHinted = 7.5

// Measures of the outlines, in units of the em square.
const (
	flat     = 12  // a stretch is level if its points differ by no more
	longEdge = 60  // the least length of an edge
	maxBar   = 420 // the thickest bar
	zoneSize = 40  // edges this near to a zone's height belong to it
)

// mostMoved is how far an edge may be moved, in device pixels.
const mostMoved = 0.9

// A zone is a height at which many letters end.
type zone struct {
	height float64 // of flat letters
	top    bool    // the letters lie below it
}

// measures are what hinting knows of a font.
type measures struct {
	zones []zone
	bar   float64 // the usual thickness of a level bar
	stem  float64 // of an upright one
	round float64 // the part of a pixel from which on one more is taken
}

// measuresOf measures a font by letters that show each measure clearly.
func measuresOf(f *truetype.Font) measures {
	m := measures{zones: zonesOf(f), round: 0.5}
	first := func(edges []hedge) float64 {
		pairEdges(edges)
		for _, e := range edges {
			if !e.top && e.bar >= 0 {
				return edges[e.bar].at - e.at
			}
		}
		return maxBar
	}
	h := f.Outline(f.Glyph('H'))
	m.bar, m.stem = first(findEdges(h, levels)), first(findEdges(h, uprights))
	if m.stem > boldStem { // small bold text is to be bold
		m.round = 0.35
	}
	return m
}

// boldStem is the thickness from which on letters are bold, in units of the em square.
const boldStem = 240

// levels and uprights return the coordinates of a point by which level and upright edges are found.
func levels(p truetype.Point) (at, along float64)   { return float64(p.Y), float64(p.X) }
func uprights(p truetype.Point) (at, along float64) { return float64(p.X), -float64(p.Y) }

// zonesOf finds the zones of a font by letters that have them.
func zonesOf(f *truetype.Font) (zones []zone) {
	for _, z := range []struct {
		char rune
		top  bool
	}{{'H', false}, {'x', true}, {'H', true}, {'l', true}, {'p', false}} {
		height := math.Inf(1)
		if z.top {
			height = math.Inf(-1)
		}
		for _, contour := range f.Outline(f.Glyph(z.char)) {
			for _, p := range contour {
				if z.top {
					height = max(height, float64(p.Y))
				} else {
					height = min(height, float64(p.Y))
				}
			}
		}
		zones = append(zones, zone{height, z.top})
	}
	return zones
}

// A hedge is a level edge: a level stretch of an outline.
type hedge struct {
	at       float64 // its height
	lo, hi   float64 // its ends
	top      bool    // the ink is below
	bar      int     // the other edge of its bar, or -1
	fitted   float64 // device pixels
	isFitted bool
}

// A knot says where a height goes.
type knot struct{ from, to float64 }

// A warp moves heights in units of the em square to device pixels.
type warp struct {
	scale float64
	knots []knot
}

func (w *warp) at(y float64) float64 {
	k := w.knots
	if len(k) == 0 {
		return y * w.scale
	}
	if y <= k[0].from {
		return k[0].to + (y-k[0].from)*w.scale
	}
	for i := 1; i < len(k); i++ {
		if y <= k[i].from {
			return k[i-1].to + (y-k[i-1].from)*(k[i].to-k[i-1].to)/(k[i].from-k[i-1].from)
		}
	}
	last := k[len(k)-1]
	return last.to + (y-last.from)*w.scale
}

// fitHeights returns where the heights of an outline go at a size in pixels a unit.
func fitHeights(outline [][]truetype.Point, m *measures, scale float64) warp {
	w := warp{scale: scale}
	edges := findEdges(outline, levels)
	thick := thickness{m.bar, m.round, scale}
	pairEdges(edges)
	fitZones(edges, m.zones, thick)
	fitBars(edges, thick, func(y float64) float64 {
		w.knots = knotsOf(edges, scale)
		return w.at(y)
	})
	w.knots = knotsOf(edges, scale)
	return w
}

// fitWidths returns where the widths of an outline go.
func fitWidths(outline [][]truetype.Point, m *measures, scale float64) warp {
	edges := findEdges(outline, uprights)
	pairEdges(edges)
	for _, shift := range []float64{0, -0.25, 0.25, -0.45, 0.45} {
		fitted := slices.Clone(edges)
		fitBars(fitted, thickness{m.stem, m.round, scale}, func(x float64) float64 { return x*scale + shift })
		if !grown(fitted) {
			return warp{scale: scale, knots: knotsOf(fitted, scale)}
		}
	}
	return warp{scale: scale}
}

// grown reports whether bars that lie beside each other have grown together, as in a small bold m.
func grown(edges []hedge) bool {
	for i, a := range edges {
		if !a.top || !a.isFitted {
			continue
		}
		for _, b := range edges[i+1:] {
			if b.top || !b.isFitted || b.fitted >= a.fitted+1 {
				continue
			}
			// A bar is as long as the longer of its edges.
			c, d := edges[a.bar], edges[b.bar]
			if min(max(a.hi, c.hi), max(b.hi, d.hi)) > max(min(a.lo, c.lo), min(b.lo, d.lo)) {
				return true
			}
		}
	}
	return false
}

// findEdges finds the level stretches of an outline. Coordinates returns height and place of a
// point.
func findEdges(outline [][]truetype.Point, coordinates func(truetype.Point) (at, along float64)) (edges []hedge) {
	for _, c := range outline {
		n := len(c)
		for i := range n {
			y, x := coordinates(c[i])
			before, _ := coordinates(c[(i+n-1)%n])
			if math.Abs(before-y) <= flat {
				continue // not the first of its stretch
			}
			lo, hi, last, end := x, x, x, y
			sum, count := y, 1.0
			j := i + 1
			for ; j < i+n; j++ {
				yj, xj := coordinates(c[j%n])
				if math.Abs(yj-y) > flat {
					end = yj
					break
				}
				lo, hi, last = min(lo, xj), max(hi, xj), xj
				sum, count = sum+yj, count+1
			}
			extreme := (before < y) == (end < y)
			if hi-lo < longEdge || last == x || count == 1 && !extreme {
				continue
			}
			edges = append(edges, hedge{at: sum / count, lo: lo, hi: hi, top: last > x, bar: -1})
		}
	}
	slices.SortFunc(edges, func(a, b hedge) int { return cmp.Compare(a.at, b.at) })
	return edges
}

// pairEdges finds the two edges of each bar: a lower and the next upper one above it.
func pairEdges(edges []hedge) {
	for i := range edges {
		if edges[i].top {
			continue
		}
		for j := i + 1; j < len(edges) && edges[j].at-edges[i].at <= maxBar; j++ {
			if !edges[j].top || edges[j].bar >= 0 || min(edges[i].hi, edges[j].hi)-max(edges[i].lo, edges[j].lo) < longEdge/2 {
				continue
			}
			edges[i].bar, edges[j].bar = j, i
			break
		}
	}
}

// A thickness makes bars whole pixels thick.
type thickness struct {
	usual float64 // units; bars nearly as thick are taken to be as thick
	round float64 // as in measures
	scale float64
}

func (t *thickness) of(units float64) float64 {
	if math.Abs(units-t.usual) < t.usual/4 {
		units = t.usual
	}
	return max(1, math.Floor(units*t.scale+1-t.round))
}

// fitZones puts edges at common heights, and the other edges of their bars.
func fitZones(edges []hedge, zones []zone, thick thickness) {
	scale := thick.scale
	for i := range edges {
		e := &edges[i]
		for _, z := range zones {
			if e.top != z.top || math.Abs(e.at-z.height) > zoneSize || e.isFitted {
				continue
			}
			to := math.Floor(z.height*scale + 0.5)
			// Round letters reach beyond the zone, which is seen in large sizes only.
			if beyond := (e.at - z.height) * scale; math.Abs(beyond) >= 0.7 {
				to += math.Round(beyond)
			}
			e.fit(to)
			if e.bar >= 0 {
				other := &edges[e.bar]
				wide := thick.of(math.Abs(other.at - e.at))
				if e.top {
					wide = -wide
				}
				other.fit(to + wide)
			}
			break
		}
	}
}

func (e *hedge) fit(to float64) {
	if !e.isFitted {
		e.fitted, e.isFitted = to, true
	}
}

// fitBars puts the remaining bars on whole pixels, from below upward, near to where at says that
// their middle is.
func fitBars(edges []hedge, thick thickness, at func(float64) float64) {
	for i := range edges {
		low := &edges[i]
		if low.isFitted || low.bar < i || low.top {
			continue
		}
		high := &edges[low.bar]
		if high.isFitted {
			continue
		}
		middle := at((low.at + high.at) / 2)
		wide := thick.of(high.at - low.at)
		to := math.Floor(middle - wide/2 + 0.5)
		low.fit(to)
		high.fit(to + wide)
	}
}

// knotsOf returns the edges that are fitted, rising: an edge that would turn the outline over is
// left out, and so is one of two at the same height, and one that would be moved far.
func knotsOf(edges []hedge, scale float64) (knots []knot) {
	for _, e := range edges {
		if !e.isFitted || math.Abs(e.fitted-e.at*scale) > mostMoved {
			continue
		}
		if n := len(knots); n > 0 && (e.at-knots[n-1].from < 1 || e.fitted < knots[n-1].to) {
			continue
		}
		knots = append(knots, knot{e.at, e.fitted})
	}
	return knots
}
