package chart

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
