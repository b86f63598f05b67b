package chart

import (
	"cmp"
	"math"
	"slices"
)

// Draw draws a chart. A size below the least one is widened to that.
func Draw(c *Chart) *Grid {
	g := NewGrid(max(c.Width, LeastWidth), max(c.Height, LeastHeight))
	top := 0
	if c.Title != "" {
		c.heading(g)
		top = 1
	}
	legend := c.legend(g.Width)
	below := min(len(legend), max(1, (g.Height-top-4)/2))
	if c.NoLegend || g.Height-top-2-below < 3 {
		below = 0
	}
	high := g.Height - top - 2 - below
	c.area(g, top, high)
	if below == 0 {
		return g
	}
	if below < len(legend) {
		c.putNames(g, g.Height-below)
		return g
	}
	for i := range below {
		c.putLegend(g, g.Height-below+i, &legend[i])
	}
	return g
}

// heading writes the title and as many of the notes as there is room for. The last note stands at
// the right edge, and the title gives way to it up to half of the width.
func (c *Chart) heading(g *Grid) {
	notes, left := c.Notes, g.Width
	if n := len(notes); n > 0 {
		last := notes[n-1]
		notes, left = notes[:n-1], left-Width(last)-2
		if left < min(Width(c.Title), g.Width/3) {
			left = g.Width
		} else {
			g.PutRight(g.Width, 0, last, Style{Dim: true})
		}
	}
	x := g.Put(0, 0, Fit(c.Title, left, c.ellipsis()), Style{Bold: true})
	for _, note := range notes {
		if x+2+Width(note) <= left {
			x = g.Put(x+2, 0, note, Style{Dim: true})
		}
	}
}

// area draws the lines and both axes into so many lines of the grid.
func (c *Chart) area(g *Grid, top, high int) {
	// The width of the labels depends on the scale, and the scale on nothing that depends on it.
	probe := newDots(1, high, c.ASCII)
	series := c.series(max(1, g.Width*probe.perX))
	lowest, highest := extent(series, c.Log)
	s := newScale(c, lowest, highest, probe.rows(), high)
	ticks := s.ticks()
	left := 1
	for _, t := range ticks {
		left = max(left, Width(t.label))
	}
	left = min(left, g.Width/2)
	d := newDots(g.Width-left-1, high, c.ASCII)
	series = c.series(d.columns())
	for i := len(series) - 1; i >= 0; i-- {
		c.band(d, s, series, i)
	}
	for i := len(series) - 1; i >= 0; i-- { // the first line lies on top
		c.line(d, s, series, i)
	}
	c.axes(g, top, left, d, ticks)
	for cy := range d.cellsHigh {
		for cx := range d.cellsWide {
			c.putDots(g.At(left+1+cx, top+cy), d, cx, cy)
		}
	}
	if !anyKnown(series) {
		text := "no known values in this time"
		g.Put(left+1+max(0, (d.cellsWide-len(text))/2), top+high/2, text, Style{Dim: true})
	}
}

// columns are a line as dot columns show it. In a stack they are sums.
type columns struct {
	values, low, high []float64 // low and high are nil if there is no band
}

// series returns the columns of all lines.
func (c *Chart) series(n int) []columns {
	out := make([]columns, len(c.Lines))
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Rows.Step > 0 {
			out[i].values = l.Rows.columns(c.Start, c.End, n, l.Merge)
		} else {
			out[i].values = unknown(n)
		}
		if l.Low.Step > 0 && l.High.Step > 0 && !c.Stack {
			out[i].low = l.Low.columns(c.Start, c.End, n, Least)
			out[i].high = l.High.columns(c.Start, c.End, n, Greatest)
		}
	}
	if c.Stack {
		for i := 1; i < len(out); i++ {
			for x, v := range out[i].values {
				below := out[i-1].values[x]
				switch {
				case math.IsNaN(v):
					out[i].values[x] = below
				case !math.IsNaN(below):
					out[i].values[x] = v + below
				}
			}
		}
	}
	return out
}

func unknown(n int) []float64 {
	return slices.Repeat([]float64{math.NaN()}, n)
}

// extent returns the least and the greatest known value. For a logarithmic axis only positive
// values count.
func extent(series []columns, log bool) (lowest, highest float64) {
	lowest, highest = math.NaN(), math.NaN()
	for _, s := range series {
		for _, values := range [][]float64{s.values, s.low, s.high} {
			for _, v := range values {
				if math.IsNaN(v) || math.IsInf(v, 0) || log && v <= 0 {
					continue
				}
				lowest, highest = fmin(lowest, v), fmax(highest, v)
			}
		}
	}
	return lowest, highest
}

func anyKnown(series []columns) bool {
	lowest, _ := extent(series, false)
	return !math.IsNaN(lowest)
}

// line draws line i. In a stack it is the area from the line below.
func (c *Chart) line(d *dots, s *scale, series []columns, i int) {
	m := mark(i + 1)
	last, drawn := 0, false
	for x, v := range series[i].values {
		row, ok := s.row(v)
		switch {
		case !ok:
		case c.Stack:
			c.column(d, c.base(s, series, i, x), row, i, x)
		case !drawn:
			d.set(x, row, m)
		case c.dashed(i, x) || row-last > d.perY/2 || last-row > d.perY/2: // steep parts have no dashes
			d.span(x, last+cmp.Compare(row, last), row, m)
		}
		last, drawn = row, ok
	}
}

// base returns the dot row on which an area of a stack stands.
func (c *Chart) base(s *scale, series []columns, i, x int) int {
	below := 0.0
	if i > 0 && !math.IsNaN(series[i-1].values[x]) {
		below = series[i-1].values[x]
	}
	if row, ok := s.row(below); ok {
		return max(0, min(row, s.rows-1))
	}
	return 0
}

// band draws the range around line i: every other dot.
func (c *Chart) band(d *dots, s *scale, series []columns, i int) {
	for x := range series[i].low {
		low, ok := s.row(series[i].low[x])
		high, ok2 := s.row(series[i].high[x])
		if !ok2 {
			continue
		}
		if !ok { // below a logarithmic axis
			low = 0
		}
		for row := max(0, low); row <= min(high, d.rows()-1); row++ {
			if d.perX == 1 || (x+row)%2 == 0 {
				d.set(x, row, mark(-i-1))
			}
		}
	}
}
