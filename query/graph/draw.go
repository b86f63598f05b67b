package graph

import (
	"math"

	"github.com/rondo-db/rondo/query/graph/canvas"
)

// Canvas returns the options of the canvas on which the graph is drawn.
func (o *Options) Canvas() canvas.Options {
	title := ""
	if lines := titleLines(o.Title); len(lines) > 0 {
		title = lines[0]
	}
	return canvas.Options{Title: title, Hard: o.HardEdges, HardText: o.HardText}
}

// Draw draws a layout that has been measured. It asks ended before each part of the picture, and
// leaves the part out if ended returns true.
func (l *Layout) Draw(c canvas.Canvas, ended func() bool) {
	p := &painter{Layout: l, c: c, fit: c.Fit() && !l.o.NoGridFit, ended: ended}
	p.background()
	p.c.Clip(canvas.Rect{Min: canvas.Point{X: p.Left, Y: p.Top - 1}, Max: canvas.Point{X: p.right(), Y: p.bottom() + 1}}, func() {
		p.group("graph", "", p.elements)
	})
	if !l.o.OnlyGraph {
		p.border()
		p.group("xaxis", "", p.xAxis)
		p.group("yaxis", "", p.yAxis)
		p.labels()
		p.group("legend", "", p.legend)
		p.axes()
	}
	p.rules()
}

func (p *painter) background() {
	width, height := float64(p.ImageWidth), float64(p.ImageHeight)
	p.c.Fill(p.o.Colors[Back], []canvas.Point{{X: 0, Y: 0}, {X: width, Y: 0}, {X: width, Y: height}, {X: 0, Y: height}})
	p.c.Fill(p.o.Colors[Canvas], p.box(p.Left, p.Top, p.right(), p.bottom()))
}

// border draws the frame of the picture, light at the top left and dark at the bottom right.
func (p *painter) border() {
	b, w, h := float64(p.o.Border), float64(p.ImageWidth), float64(p.ImageHeight)
	if b == 0 {
		return
	}
	p.c.Fill(p.o.Colors[ShadeA], []canvas.Point{{X: 0, Y: h}, {X: b, Y: h - b}, {X: b, Y: b}, {X: w - b, Y: b}, {X: w, Y: 0}, {X: 0, Y: 0}})
	p.c.Fill(p.o.Colors[ShadeB], []canvas.Point{{X: b, Y: h - b}, {X: w - b, Y: h - b}, {X: w - b, Y: b}, {X: w, Y: 0}, {X: w, Y: h}, {X: 0, Y: h}})
}

const (
	// labelPlace is how far labels at the sides stand from the edge or from the graph, in pixels.
	labelPlace = 10
	// faint is the alpha of the tag and the watermark.
	faint = 0.3
	// tagText stands at the right edge.
	tagText = "RONDO"
)

// labels draws the texts around the graph, except the labels of the axes.
func (p *painter) labels() {
	o := p.o
	middle := p.Top + float64(p.Height/2)
	if o.LegendPosition == North {
		middle += float64(p.below)
	}
	if o.VerticalLabel != "" {
		x := float64(labelPlace)
		switch o.LegendPosition {
		case East:
			x += float64(p.tag)
		case West:
			x += float64(p.legendWidth)
		}
		p.text(canvas.Text{At: canvas.Point{X: x, Y: middle}, Align: canvas.Center, VAlign: canvas.Middle, Angle: 90, Font: o.Fonts[Unit]}, o.VerticalLabel)
	}
	if o.RightLabel != "" {
		x := p.right() + labelPlace
		if o.HasRight {
			x += float64(p.yLabel)
		}
		p.text(canvas.Text{At: canvas.Point{X: x, Y: middle}, Align: canvas.Center, VAlign: canvas.Middle, Angle: 90, Font: o.Fonts[Unit]}, o.RightLabel)
	}
	size := o.Fonts[Title].Size
	for i, line := range p.TitleLines {
		at := canvas.Point{X: float64(p.ImageWidth / 2), Y: size*1.3 + size*1.6*float64(i)}
		p.text(canvas.Text{At: at, Align: canvas.Center, VAlign: canvas.Top, Font: o.Fonts[Title]}, line)
	}
	color := o.Colors[FontColor]
	color.A = uint8(math.Round(faint * float64(color.A)))
	if !o.NoTag {
		at := canvas.Point{X: float64(p.ImageWidth) - 4, Y: 5}
		if o.LegendPosition == East {
			at = canvas.Point{X: gap, Y: 5}
		}
		p.text(canvas.Text{At: at, Align: canvas.Left, VAlign: canvas.Top, Angle: -90, Font: o.Fonts[Watermark], Color: color}, tagText)
	}
	if o.Watermark != "" {
		at := canvas.Point{X: float64(p.ImageWidth / 2), Y: float64(p.ImageHeight) - 6}
		p.text(canvas.Text{At: at, Align: canvas.Center, VAlign: canvas.Bottom, Font: o.Fonts[Watermark], Color: color}, o.Watermark)
	}
}

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
