package graph

import (
	"errors"
	"math"

	"github.com/rondo-db/rondo/query/graph/canvas"
)

// Layout works out where everything stands.
func (g *Graph) Layout() (*Layout, error) {
	if g.Options.XY {
		return nil, errors.New("XY diagram not implemented")
	}
	l := &Layout{o: g.Options, graph: g}
	l.items = newItems(g.marks, g.constant, g.Options)
	if err := l.place(l.items); err != nil {
		return nil, err
	}
	return l, nil
}

// Measure works out the limits and the axes of a layout, for which the data are gone through.
func (l *Layout) Measure() {
	low, high := l.graph.sum(l.Width)
	l.limits(low, high)
	if l.o.OnlyGraph {
		return
	}
	if !l.o.NoXGrid {
		l.xLines()
	}
	if !l.o.NoYGrid {
		l.yLines()
	}
}

func (o *Options) margins(titleLines int) margins {
	m := margins{title: gap, yLabel: gap, rightLabel: gap, tag: gap}
	if titleLines > 0 {
		m.title = int(o.Fonts[Title].Size * float64(titleLines+1) * 1.6)
	}
	if !o.NoXGrid {
		m.below = int(o.Fonts[Axis].Size * 2.5)
	}
	if !o.NoYGrid || o.HasUnitsLength {
		m.yLabel = int(canvas.Width(o.Fonts[Axis], canvas.Plain("0"))*float64(o.UnitsLength)) + gap
	}
	if o.VerticalLabel != "" {
		m.vertical = int(o.Fonts[Unit].Size * 2)
	}
	if o.RightLabel != "" {
		m.rightLabel = int(o.Fonts[Unit].Size * 2)
	}
	if o.Watermark != "" {
		m.watermark = int(o.Fonts[Watermark].Size * 2)
	}
	if o.NoTag {
		m.tag = 0
	}
	return m
}

// Drawn returns how wide an item of the legend is drawn: zoomed letters have whole device pixels.
func (l *Layout) Drawn(it LegendItem) float64 {
	if l.o.Zoom == 1 {
		return it.Right - it.Left
	}
	font := l.o.Fonts[Legend]
	font.Size *= l.o.Zoom
	width := 0.0
	for _, p := range l.pieces(it.runs) {
		width = max(width, math.Ceil(p.at+canvas.Width(font, p.runs)/l.o.Zoom))
	}
	return width
}

// place works out the sizes of the picture and of its parts.
func (l *Layout) place(items []item) (err error) {
	o := l.o
	l.Width, l.Height = o.Width, o.Height
	if o.OnlyGraph {
		l.ImageWidth, l.ImageHeight = l.Width, l.Height
		return nil
	}
	l.TitleLines = titleLines(o.Title)
	m := o.margins(len(l.TitleLines))
	l.margins = m
	l.tabs.known = !o.NoYGrid || o.HasUnitsLength
	right, legendWidth, legendHeight := 0, 0, 0
	if o.HasRight {
		right = m.yLabel
	}
	sideways := o.LegendPosition == West || o.LegendPosition == East
	if sideways {
		if legendWidth, _, err = l.placeLegend(items, unlimited); err != nil {
			return err
		}
	}
	l.legendWidth = legendWidth
	around := m.yLabel + m.tag + right + m.vertical + m.rightLabel + legendWidth
	if !o.FullSize {
		l.ImageWidth = l.Width + around
	} else {
		l.ImageWidth = o.Width
		l.Width = max(o.Width-around, 1)
	}
	available := l.ImageWidth
	if sideways {
		available = legendWidth
	}
	if _, legendHeight, err = l.placeLegend(items, available); err != nil {
		return err
	}
	l.placeAround(m, right, legendWidth, legendHeight)
	return nil
}

// placeAround places what stands around the graph.
func (l *Layout) placeAround(m margins, right, legendWidth, legendHeight int) {
	o := l.o
	l.Left = float64(m.vertical + m.yLabel)
	l.Top = float64(m.title)
	around := m.below + m.title + m.watermark
	if o.LegendPosition == North || o.LegendPosition == South {
		around += legendHeight
	}
	bottom := 0.0
	if o.NoLegend {
		bottom = noLegendGap
	}
	if !o.FullSize {
		l.ImageHeight = int(float64(l.Height+around) + bottom)
	} else {
		l.ImageHeight = o.Height
		l.Height = max(int(float64(o.Height-around)-bottom), 1)
	}
	x0, y0 := 0, m.title
	switch o.LegendPosition {
	case South:
		y0 = m.title + l.Height + m.below
	case North:
		l.Top += float64(legendHeight)
	case West:
		l.Left += float64(legendWidth)
	case East:
		l.Left += float64(m.tag)
		x0 = m.vertical + m.yLabel + l.Width + m.rightLabel + right + m.tag
	}
	l.moveLegend(float64(x0), float64(y0))
}
