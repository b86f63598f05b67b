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

// dots is the area of a chart: cells of several dots each. Braille characters have two columns and
// four rows of dots, ASCII has one dot a cell.
type dots struct {
	cellsWide, cellsHigh int
	perX, perY           int
	marks                []mark // by dot, from the top left
}

// A mark is what a dot belongs to: 0 is nothing, n is line n-1, and -n is the band of line n-1.
type mark int8

func newDots(width, height int, ascii bool) *dots {
	d := &dots{cellsWide: width, cellsHigh: height, perX: 2, perY: 4}
	if ascii {
		d.perX, d.perY = 1, 1
	}
	d.marks = make([]mark, d.columns()*d.rows())
	return d
}

func (d *dots) columns() int { return d.cellsWide * d.perX }
func (d *dots) rows() int    { return d.cellsHigh * d.perY }

// set marks a dot. Rows count from the bottom. A line covers bands; a band covers nothing.
func (d *dots) set(x, row int, m mark) {
	if x < 0 || x >= d.columns() || row < 0 || row >= d.rows() {
		return
	}
	at := (d.rows()-1-row)*d.columns() + x
	if m > 0 || d.marks[at] == 0 {
		d.marks[at] = m
	}
}

// span marks the dots of a column from one row to another.
func (d *dots) span(x, from, to int, m mark) {
	from, to = max(0, min(from, to)), min(d.rows()-1, max(from, to))
	for row := from; row <= to; row++ {
		d.set(x, row, m)
	}
}

// brailleBit is the bit of a dot in a braille character, by row and column.
var brailleBit = [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// cell returns the character of a cell and the mark that gives it its colour: the line with the
// most dots in it, and the band only if there is no line. 0: the cell is empty.
func (d *dots) cell(cx, cy int) (braille rune, owner mark) {
	var counts [1 << 8]int8
	best := int8(0)
	for y := range d.perY {
		for x := range d.perX {
			m := d.marks[(cy*d.perY+y)*d.columns()+cx*d.perX+x]
			if m == 0 {
				continue
			}
			braille |= brailleBit[y][x]
			n := &counts[uint8(m)]
			*n++
			weight := *n
			if m > 0 {
				weight += 8
			}
			if weight > best {
				best, owner = weight, m
			}
		}
	}
	return braille, owner
}

// Rows are consecutive values of equal length in time.
type Rows struct {
	Start  int64 // the first row covers (Start, Start+Step], in seconds since 1970
	Step   int64 // seconds a row
	Values []float64
}

// A Merge says what a dot column shows of several rows.
type Merge int

// What a dot column shows.
const (
	Mean Merge = iota // the mean, weighted by time
	Least
	Greatest
	Newest
)

// A Line is one data source in a chart.
type Line struct {
	Name  string
	Rows  Rows
	Merge Merge
	// Low and High are the edges of a band around the line. They are empty if the line has no band.
	Low, High Rows
}

// columns returns the value of each dot column of (start, end].
func (r *Rows) columns(start, end int64, n int, merge Merge) []float64 {
	out := make([]float64, n)
	width := float64(end-start) / float64(n)
	for x := range out {
		from := float64(start) + float64(x)*width
		out[x] = r.between(from, from+width, merge)
	}
	return out
}

// between returns the value of the rows that overlap (from, to].
func (r *Rows) between(from, to float64, merge Merge) float64 {
	out, weight := math.NaN(), 0.0
	first := max(0, int(math.Floor((from-float64(r.Start))/float64(r.Step))))
	for i := first; i < len(r.Values); i++ {
		begin := float64(r.Start) + float64(i)*float64(r.Step)
		if begin >= to {
			break
		}
		v := r.Values[i]
		overlap := math.Min(to, begin+float64(r.Step)) - math.Max(from, begin)
		if math.IsNaN(v) || overlap <= 0 {
			continue
		}
		switch {
		case weight == 0 || merge == Newest:
			out = v
		case merge == Mean:
			out += (v - out) * overlap / (weight + overlap)
		case merge == Least:
			out = math.Min(out, v)
		case merge == Greatest:
			out = math.Max(out, v)
		}
		weight += overlap
	}
	return out
}

// A Summary is the numbers of a line that a legend shows. Without known values all are NaN.
type Summary struct {
	Last, Min, Avg, Max float64
}

// Summary returns the numbers of the line in (start, end]. The least and the greatest value come
// from the band, if the line has one.
func (l *Line) Summary(start, end int64) Summary {
	s := Summary{Last: math.NaN(), Min: math.NaN(), Avg: math.NaN(), Max: math.NaN()}
	if l.Rows.Step > 0 {
		from, to := float64(start), float64(end)
		s.Avg = l.Rows.between(from, to, Mean)
		s.Last = l.Rows.between(from, to, Newest)
		s.Min = l.Rows.between(from, to, Least)
		s.Max = l.Rows.between(from, to, Greatest)
		if l.Low.Step > 0 {
			s.Min = fmin(s.Min, l.Low.between(from, to, Least))
		}
		if l.High.Step > 0 {
			s.Max = fmax(s.Max, l.High.between(from, to, Greatest))
		}
	}
	return s
}

// fmin returns the lesser of two values, or the known one.
func fmin(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

// fmax returns the greater of two values, or the known one.
func fmax(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// dashed reports whether a line is drawn in a dot column. Lines are dashed where no colours
// distinguish them.
func (c *Chart) dashed(i, x int) bool {
	if !c.Plain || c.ASCII {
		return true
	}
	p := dashes[i%len(dashes)]
	return x%(p[0]+p[1]) < p[0]
}

// column draws a dot column of an area in a stack. The base belongs to the area below.
func (c *Chart) column(d *dots, base, row, i, x int) {
	m := mark(i + 1)
	switch {
	case base < row && i > 0:
		base++
	case base > row && i > 0:
		base--
	}
	if !c.Plain || c.ASCII {
		d.span(x, base, row, m)
		return
	}
	d.set(x, row, m)
	for y := max(0, min(base, row)); y <= min(d.rows()-1, max(base, row)); y++ {
		if hatched(i, x, y) {
			d.set(x, y, m)
		}
	}
}

// hatched reports whether an area has a dot at a place, where no colours distinguish areas.
func hatched(i, x, y int) bool {
	switch i % 4 {
	case 0:
		return true
	case 1:
		return (x+y)%2 == 0
	case 2:
		return x%4 == 0
	}
	return x%2 == 0 && y%4 == 0
}

// putDots writes a cell of the area.
func (c *Chart) putDots(cell *Cell, d *dots, cx, cy int) {
	bits, m := d.cell(cx, cy)
	if m == 0 {
		return
	}
	i := int(m)
	style := Style{}
	if m < 0 {
		i, style.Dim = -i, true
	}
	if !c.Plain {
		style.Color = LineColor(i - 1).Color
	}
	switch {
	case !c.ASCII:
		cell.Text = string(0x2800 + bits)
	case m < 0:
		cell.Text = ":"
	default:
		cell.Text = letters[(i-1)%len(letters) : (i-1)%len(letters)+1]
	}
	cell.Style = style
}
