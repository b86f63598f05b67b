package chart

import (
	"fmt"
)

// A legendLine is a line of the legend: the heading or a series.
type legendLine struct {
	index   int // of the line; -1: the heading
	name    string
	numbers []string
	widths  []int
	room    int // cells of the name
}

var legendColumns = []string{"last", "min", "avg", "max"}

// legend returns the lines of the legend. Columns of numbers that leave a name less than a third of
// the width are left out: first the average, then the least value.
func (c *Chart) legend(width int) []legendLine {
	lines := make([]legendLine, 0, len(c.Lines)+1)
	lines = append(lines, legendLine{index: -1, numbers: append([]string(nil), legendColumns...)})
	var values []float64
	for i := range c.Lines {
		s := c.Lines[i].Summary(c.Start, c.End)
		values = append(values, s.Last, s.Min, s.Avg, s.Max)
	}
	scale := c.in(values...)
	for i := range c.Lines {
		l := legendLine{index: i, name: c.Lines[i].Name}
		for _, v := range values[4*i : 4*i+4] {
			l.numbers = append(l.numbers, c.text(scale.Text(v)))
		}
		lines = append(lines, l)
	}
	longest := 4
	for i := range lines {
		longest = max(longest, Width(lines[i].name))
	}
	for {
		widths, sum := columnWidths(lines)
		room := width - 3 - sum
		if n := len(widths); room >= min(longest, width/3) || n <= 1 {
			room = max(1, min(room, longest))
			for i := range lines {
				lines[i].widths, lines[i].room = widths, room
			}
			return lines
		}
		for i := range lines {
			lines[i].numbers = without(lines[i].numbers, dropped(len(widths)))
		}
	}
}

// dropped returns the index of the column that is left out of n.
func dropped(n int) int {
	if n == 4 {
		return 2
	}
	return 1
}

func without(s []string, i int) []string { return append(s[:i:i], s[i+1:]...) }

func columnWidths(lines []legendLine) (widths []int, sum int) {
	widths = make([]int, len(lines[0].numbers))
	for i := range lines {
		for j, text := range lines[i].numbers {
			widths[j] = max(widths[j], Width(text))
		}
	}
	for _, w := range widths {
		sum += w + 2
	}
	return widths, sum
}

// putNames writes a legend for which there is no room: the names alone, one behind the other, in
// the lines from y on. The last line says how many are missing.
func (c *Chart) putNames(g *Grid, y int) {
	x := 0
	for i := range c.Lines {
		name := Fit(c.Lines[i].Name, g.Width/2, c.ellipsis())
		more := fmt.Sprintf("%s %d more", c.ellipsis(), len(c.Lines)-i)
		room := g.Width - x
		if y == g.Height-1 && i < len(c.Lines)-1 {
			room -= Width(more) + 2
		}
		if 3+Width(name) > room && x > 0 {
			if y++; y >= g.Height {
				g.Put(x, y-1, more, Style{Dim: true})
				return
			}
			x = 0
		}
		c.putMarker(g, x, y, i)
		x = g.Put(x+3, y, name, Style{}) + 2
	}
}

func (c *Chart) putLegend(g *Grid, y int, l *legendLine) {
	style := Style{}
	if l.index < 0 {
		style.Dim = true
	} else {
		c.putMarker(g, 0, y, l.index)
	}
	g.Put(3, y, Fit(l.name, l.room, c.ellipsis()), style)
	x := 3 + l.room
	for i, text := range l.numbers {
		x += 2 + l.widths[i]
		g.PutRight(x, y, text, style)
	}
}

// putMarker draws a piece of a line.
func (c *Chart) putMarker(g *Grid, left, y, index int) {
	d := newDots(2, 1, c.ASCII)
	for x := range d.columns() {
		switch {
		case c.Stack:
			c.column(d, 0, d.rows()-1, index, x)
		case c.dashed(index, x):
			d.set(x, d.rows()/2, mark(index+1))
		}
	}
	for x := range min(2, g.Width-left) {
		c.putDots(g.At(left+x, y), d, x, 0)
	}
}
