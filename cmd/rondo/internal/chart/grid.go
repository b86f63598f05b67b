package chart

import (
	"bufio"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// A Cell is one place of the screen.
type Cell struct {
	// Text is one character with all that combines with it. It is empty in the right half of a wide
	// character, and where nothing was written.
	Text  string
	Style Style
	// Wide marks a character that takes this cell and the next one.
	Wide bool
}

// A Grid is a rectangle of cells.
type Grid struct {
	Width, Height int
	cells         []Cell
}

// NewGrid returns an empty grid.
func NewGrid(width, height int) *Grid {
	width, height = max(0, width), max(0, height)
	return &Grid{Width: width, Height: height, cells: make([]Cell, width*height)}
}

// At returns a cell, which is inside of the grid.
func (g *Grid) At(x, y int) *Cell { return &g.cells[y*g.Width+x] }

// Put writes a text from left to right, cuts it off at the right edge, and returns the column
// behind it. Columns left of the grid are not written.
func (g *Grid) Put(x, y int, text string, s Style) int {
	if y < 0 || y >= g.Height {
		return x
	}
	parts := displaywidth.StringGraphemes(text)
	for parts.Next() {
		w := parts.Width()
		if w == 0 {
			continue
		}
		if x+w > g.Width {
			return x
		}
		if x >= 0 {
			*g.At(x, y) = Cell{Text: parts.Value(), Style: s, Wide: w > 1}
			for i := 1; i < w; i++ {
				*g.At(x+i, y) = Cell{Style: s}
			}
		}
		x += w
	}
	return x
}

// PutRight writes a text that ends before column x.
func (g *Grid) PutRight(x, y int, text string, s Style) { g.Put(x-Width(text), y, text, s) }

// Fill gives all cells of a line a style, and keeps their text.
func (g *Grid) Fill(y int, s Style) {
	if y < 0 || y >= g.Height {
		return
	}
	for x := range g.Width {
		g.At(x, y).Style = s
	}
}

// Width returns how many cells a text takes.
func Width(text string) int { return displaywidth.String(text) }

// Fit shortens a text to a number of cells. It leaves out the middle, because paths differ at both
// ends; ellipsis stands there.
func Fit(text string, width int, ellipsis string) string {
	if Width(text) <= width {
		return text
	}
	room := width - Width(ellipsis)
	if room <= 0 {
		return displaywidth.TruncateString(text, max(0, width), "")
	}
	head := displaywidth.TruncateString(text, room/3, "")
	tail := text
	for Width(tail) > room-Width(head) {
		parts := displaywidth.StringGraphemes(tail)
		parts.Next()
		tail = tail[len(parts.Value()):]
	}
	return head + ellipsis + tail
}

// Print writes the lines of the grid, without blanks at their ends.
func (g *Grid) Print(w io.Writer, colors Colors) error {
	b := bufio.NewWriter(w)
	for y := range g.Height {
		g.printLine(b, y, colors)
		_ = b.WriteByte('\n') // Flush returns the error
	}
	return b.Flush()
}

func (g *Grid) printLine(b *bufio.Writer, y int, colors Colors) {
	end := g.Width
	for end > 0 && strings.TrimSpace(g.At(end-1, y).Text) == "" && !g.At(end-1, y).Style.Reverse && (end < 2 || !g.At(end-2, y).Wide) {
		end--
	}
	var now Style
	for x := 0; x < end; x++ {
		c := g.At(x, y)
		if colors != NoColors && c.Style != now {
			_, _ = b.WriteString(c.Style.sequence(colors))
			now = c.Style
		}
		switch {
		case c.Text != "":
			_, _ = b.WriteString(c.Text)
		case x == 0 || !g.At(x-1, y).Wide:
			_ = b.WriteByte(' ')
		}
	}
	if now != (Style{}) {
		_, _ = b.WriteString("\x1b[0m")
	}
}

// axes draws both axes with their labels.
func (c *Chart) axes(g *Grid, top, left int, d *dots, ticks []tick) {
	vertical, horizontal, corner, onVertical, onHorizontal := "│", "─", "└", "┤", "┬"
	if c.ASCII {
		vertical, horizontal, corner, onVertical, onHorizontal = "|", "-", "+", "+", "+"
	}
	faint := Style{Dim: true}
	bottom := top + d.cellsHigh
	for y := top; y < bottom; y++ {
		g.Put(left, y, vertical, faint)
	}
	free := bottom // the lines from here on have labels
	for _, t := range ticks {
		y := bottom - 1 - t.at/d.perY
		if y < top || y >= free {
			continue
		}
		free = y
		g.Put(left, y, onVertical, faint)
		g.PutRight(left, y, t.label, faint)
	}
	g.Put(left, bottom, corner, faint)
	for x := range d.cellsWide {
		g.Put(left+1+x, bottom, horizontal, faint)
	}
	c.timeAxis(g, bottom, left+1, d.cellsWide, onHorizontal)
}

// timeAxis writes the labels of the time axis. A label stands below its tick in the middle, unless
// it would leave the grid or touch the one before.
func (c *Chart) timeAxis(g *Grid, bottom, left, cells int, mark string) {
	if c.End <= c.Start {
		return
	}
	faint := Style{Dim: true}
	free := 0
	for _, t := range timeTicks(c.Start, c.End, cells, c.Location) {
		w := Width(t.label)
		x := min(max(0, left+t.at-w/2), g.Width-w)
		if x < free {
			continue
		}
		g.Put(left+t.at, bottom, mark, faint)
		g.Put(x, bottom+1, t.label, faint)
		free = x + w + 1
	}
}
