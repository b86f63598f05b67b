package graph

import (
	"math"

	"github.com/rondo-db/rondo/query/graph/canvas"
)

// A painter draws a layout on a canvas.
type painter struct {
	*Layout
	c   canvas.Canvas
	fit bool // lines and areas are moved to whole pixels
	// ended reports whether the drawing is to end before the picture is complete.
	ended func() bool
}

// group draws a part of the picture that has a name, unless the drawing is to end.
func (p *painter) group(id, title string, draw func()) {
	if !p.ended() {
		p.c.Group(id, title, draw)
	}
}

func (p *painter) right() float64  { return p.Left + float64(p.Width) }
func (p *painter) bottom() float64 { return p.Top + float64(p.Height) }

// box is an upright rectangle.
func (p *painter) box(left, top, right, bottom float64) []canvas.Point {
	return []canvas.Point{p.corner(left, top), p.corner(right, top), p.corner(right, bottom), p.corner(left, bottom)}
}

// corner moves a corner of an area to whole pixels.
func (p *painter) corner(x, y float64) canvas.Point {
	if p.fit {
		x, y = math.Floor(x*p.o.Zoom)/p.o.Zoom, math.Ceil(y*p.o.Zoom)/p.o.Zoom
	}
	return canvas.Point{X: x, Y: y}
}

// point moves a point of a line to where the line fills whole pixels.
func (p *painter) point(x, y, width float64) canvas.Point {
	if p.fit {
		half := width * p.o.Zoom / 2
		e := half - math.Ceil(half)
		x, y = (math.Floor(x*p.o.Zoom-0.5)-e)/p.o.Zoom, (math.Ceil(y*p.o.Zoom+0.5)+e)/p.o.Zoom
	}
	return canvas.Point{X: x, Y: y}
}

// line draws a straight line.
func (p *painter) line(x1, y1, x2, y2 float64, s canvas.Stroke) {
	p.c.Stroke(s, []canvas.Point{p.point(x1, y1, s.Width), p.point(x2, y2, s.Width)})
}

// text draws a text.
func (p *painter) text(t canvas.Text, s string) {
	t.Runs = p.o.runs(s)
	if t.Color == (canvas.Color{}) {
		t.Color = p.o.Colors[FontColor]
	}
	p.c.Text(t)
}
