package chart

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
