package canvas

import (
	"image"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestEdgesInAnyOrder scans shapes of few and of many triangles, whose edges come in no order, and
// compares the coverage of each pixel with points in it. Negative numbers: columns are scanned.
func TestEdgesInAnyOrder(t *testing.T) {
	const wide, high, fine = 48, 32, 8
	clip := image.Rect(0, 0, wide, high)
	for _, n := range []int{1, 3, 12, 150, -1, -3, -150} {
		columns := n < 0
		n = max(n, -n)
		rng := rand.New(rand.NewPCG(11, uint64(n)))
		var triangles [][]Point
		for range n {
			at := Point{rng.Float64() * wide, rng.Float64() * high}
			triangles = append(triangles, []Point{
				{at.X, at.Y - 6*rng.Float64()}, {at.X + 6*rng.Float64(), at.Y + 2*rng.Float64()}, {at.X - 6*rng.Float64(), at.Y + 6*rng.Float64()},
			})
		}
		s := &scanner{}
		s.begin(columns)
		for _, p := range triangles {
			s.polygon(slices.Clone(p), clip)
		}
		var got [high][wide]int
		if columns {
			s.scan(turned(clip), func(y, x int, cover []uint8) {
				for i, c := range cover {
					got[y+i][x] = int(c)
				}
			})
		} else {
			s.scan(clip, func(x, y int, cover []uint8) {
				for i, c := range cover {
					got[y][x+i] = int(c)
				}
			})
		}
		for y := range high {
			for x := range wide {
				points := 0
				for i := range fine * fine {
					q := Point{float64(x) + (float64(i%fine)+0.5)/fine, float64(y) + (float64(i/fine)+0.5)/fine}
					for _, p := range triangles {
						if inside(p, q) {
							points++
							break
						}
					}
				}
				if want := points * 255 / (fine * fine); got[y][x] < want-50 || got[y][x] > want+50 {
					t.Fatalf("%d triangles: the pixel %d, %d is covered by %d of 255, want about %d", n, x, y, got[y][x], want)
				}
			}
		}
	}
}

// inside reports whether a point lies in a triangle whose corners go clockwise, as one sees it.
func inside(p []Point, q Point) bool {
	for i, a := range p {
		b := p[(i+1)%len(p)]
		if (b.X-a.X)*(q.Y-a.Y)-(b.Y-a.Y)*(q.X-a.X) < 0 {
			return false
		}
	}
	return true
}
