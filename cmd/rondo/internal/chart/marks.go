package chart

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
