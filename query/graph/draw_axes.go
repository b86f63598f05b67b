package graph

import (
	"fmt"

	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
)

// Widths of lines, in pixels.
const (
	minorWidth = 0.4
	majorWidth = 0.6
	axisWidth  = 0.6
	ruleWidth  = 1
)

// gridStrokes are the lines of ticks and of the grid.
func (p *painter) gridStrokes(major bool) (tick, grid canvas.Stroke) {
	tick = canvas.Stroke{Width: minorWidth, Color: p.o.Colors[Grid]}
	if major {
		tick = canvas.Stroke{Width: majorWidth, Color: p.o.Colors[MajorGrid]}
	}
	grid = tick
	if d := p.o.GridDash; d[0]+d[1] > 0 {
		grid.Dash = d[:]
	}
	return tick, grid
}

// gridLine draws a line whose dashes begin where the line would begin if it were not moved to whole
// pixels: so they are whole pixels.
func (p *painter) gridLine(x1, y1, x2, y2 float64, s canvas.Stroke) {
	from := p.point(x1, y1, s.Width)
	switch {
	case x1 < x2:
		s.DashOffset = from.X - x1
	case y1 > y2:
		s.DashOffset = y1 - from.Y
	}
	p.line(x1, y1, x2, y2, s)
}

// xAxis draws the lines and the labels of the x axis.
func (p *painter) xAxis() {
	top, bottom := p.Top, p.bottom()
	for _, line := range p.XLines {
		tick, grid := p.gridStrokes(line.Major)
		below, above, gridBelow, gridAbove := 2.0, 2.0, 1.0, 1.0
		if line.Major {
			below, gridBelow, gridAbove = 3, 3, 2
		}
		p.line(line.At, top-above, line.At, top, tick)
		p.line(line.At, bottom, line.At, bottom+below, tick)
		p.gridLine(line.At, bottom+gridBelow, line.At, top-gridAbove, grid)
	}
	for _, label := range p.XLabels {
		p.text(canvas.Text{At: canvas.Point{X: label.At, Y: bottom + 3}, Align: canvas.Center, VAlign: canvas.Top, Font: p.o.Fonts[Axis]}, label.Text)
	}
}

// rightPlace is how far the labels of the right axis stand from it, in pixels.
const rightPlace = 7

// yAxis draws the lines and the labels of the y axes.
func (p *painter) yAxis() {
	left, right := p.Left, p.right()
	for _, line := range p.YLines {
		tick, grid := p.gridStrokes(line.Major)
		reach := 1.0
		if line.Major {
			reach = 2
		}
		p.line(left-2, line.At, left, line.At, tick)
		p.line(right, line.At, right+2, line.At, tick)
		p.gridLine(left-reach, line.At, right+reach, line.At, grid)
	}
	for _, label := range p.YLabels {
		at := canvas.Point{X: left - p.o.Fonts[Axis].Size, Y: label.At}
		p.text(canvas.Text{At: at, Align: canvas.Right, VAlign: canvas.Middle, Font: p.o.Fonts[Axis]}, label.Text)
	}
	for _, label := range p.RightLabels {
		at := canvas.Point{X: right + rightPlace, Y: label.At}
		p.text(canvas.Text{At: at, Align: canvas.Left, VAlign: canvas.Middle, Font: p.o.Fonts[Axis]}, label.Text)
	}
}

// axes draws the axes and their arrows.
func (p *painter) axes() {
	left, right, top, bottom := p.Left, p.right(), p.Top, p.bottom()
	s := canvas.Stroke{Width: axisWidth, Color: p.o.Colors[AxisColor]}
	p.line(left-4, bottom, right+4, bottom, s)
	p.line(left, bottom+4, left, top-4, s)
	arrow := p.o.Colors[Arrow]
	p.c.Fill(arrow, []canvas.Point{{X: right + 2, Y: bottom - 3}, {X: right + 2, Y: bottom + 3}, {X: right + 7, Y: bottom}})
	p.c.Fill(arrow, []canvas.Point{{X: left - 3, Y: top - 2}, {X: left + 3, Y: top - 2}, {X: left, Y: top - 7}})
	if p.o.HasRight {
		p.line(right, bottom+4, right, top-4, s)
		p.c.Fill(arrow, []canvas.Point{{X: right - 2, Y: top - 2}, {X: right + 3, Y: top - 2}, {X: right, Y: top - 7}})
	}
}

// rules draws HRULE and VRULE.
func (p *painter) rules() {
	for i := range p.items {
		it := &p.items[i]
		d := it.mark.Drawing
		if d == nil || len(d.Colors) == 0 {
			continue
		}
		s := canvas.Stroke{Width: ruleWidth, Color: d.Colors[0], Dash: d.Dashes, DashOffset: d.Offset}
		switch it.mark.Kind {
		case graphdata.HRULE:
			if it.value >= p.Min && it.value <= p.Max {
				y := p.y(it.value)
				p.line(p.Left, y, p.right(), y, s)
			}
		case graphdata.VRULE:
			if !it.outside(p.o) {
				x := p.column(int64(trunc(it.value)))
				p.line(x, p.bottom(), x, p.Top, s)
			}
		}
	}
}

// boxSide is the side of a box of the legend, in widths of a letter.
const boxSide = 1.2

// legend draws the legend.
func (p *painter) legend() {
	font := p.o.Fonts[Legend]
	side, height := boxSide*canvas.Width(font, canvas.Plain("o")), canvas.Height(font)
	for i := range p.Legend {
		it := &p.Legend[i]
		p.group(fmt.Sprintf("legend-%d", i), "", func() {
			for _, piece := range p.pieces(it.runs) {
				at := canvas.Point{X: it.Left + piece.at, Y: it.Top + height*float64(piece.line+1)}
				p.c.Text(canvas.Text{At: at, Align: canvas.Left, VAlign: canvas.Bottom, Font: font, Color: p.o.Colors[FontColor], Runs: piece.runs})
			}
			if it.Boxed && len(it.Mark.Drawing.Colors) > 0 {
				p.legendBox(it, side)
			}
		})
	}
}

// legendBox draws what stands before a legend: a box of the colour, or with --dynamic-labels a
// piece of the line.
func (p *painter) legendBox(it *LegendItem, side float64) {
	d := it.Mark.Drawing
	left, bottom := it.Left, it.Bottom-0.4*side
	right, top := left+side, bottom-side
	if p.o.Dynamic {
		s := canvas.Stroke{Width: ruleWidth, Color: d.Colors[0]}
		switch it.Mark.Kind {
		case graphdata.HRULE:
			p.line(left, bottom-side/2, right, bottom-side/2, s)
			return
		case graphdata.VRULE:
			p.line(left+side/2, bottom, left+side/2, top, s)
			return
		case graphdata.LINE:
			s.Width = d.Width
			p.line(left, bottom, right, top, s)
			return
		}
	}
	p.c.Fill(p.o.Colors[Back], p.box(left, top, right, bottom))
	p.c.Fill(d.Colors[0], p.box(left, top, right, bottom))
	s := canvas.Stroke{Width: 1, Color: p.o.Colors[Frame]}
	if len(d.Dashes) > 0 {
		s.Dash = []float64{3}
	}
	a, b := p.point(left, bottom, 1), p.point(right, top, 1)
	p.c.Stroke(s, []canvas.Point{a, {X: b.X, Y: a.Y}, b, {X: a.X, Y: b.Y}, a})
}
