package canvas

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"
)

func (s *svg) Gradient(path []Point, y1 float64, c1 Color, y2 float64, c2 Color) {
	p := device([]Point{{0, y1}, {1, y2}}, 1, nil)
	if len(p) < 2 {
		return
	}
	if y1, y2 = p[0].Y, p[1].Y; y1 == y2 {
		y2 += 1e-3
	}
	// The name follows from the gradient, so that several pictures can be in one page.
	stop := func(at string, c Color) string {
		t := svg{}
		t.colour("stop-color", c)
		return `<stop offset="` + at + `"` + strings.ReplaceAll(string(t.b), "stop-color-opacity", "stop-opacity") + "/>"
	}
	t := svg{}
	t.number(` x1="0" x2="0" y1="`, y1)
	t.number(`" y2="`, y2)
	rest := string(t.b) + `" gradientUnits="userSpaceOnUse">` + stop("0", c1) + stop("1", c2) + "</linearGradient>"
	h := fnv.New64a()
	_, _ = io.WriteString(h, rest) // cannot fail
	id := fmt.Sprintf("shade%x", h.Sum64())
	if !s.gradients[id] {
		s.gradients[id] = true
		s.b = append(s.b, `<linearGradient id="`+id+`"`+rest...)
	}
	s.b = append(s.b, `<path fill="url(#`+id+`)"`...)
	if _, _, ok := upright(path); ok { // what is behind two columns would shine through between them
		s.b = append(s.b, ` shape-rendering="crispEdges"`...)
	}
	s.shape([][]Point{path})
}
