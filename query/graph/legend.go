package graph

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"fmt"
	"math"
	"strings"

	"github.com/rondo-db/rondo/query/graphdata"
)

// newItems returns the marks of a graph with their legends. A rule that is out of sight has no
// legend.
func newItems(marks []graphdata.Mark, value func(graphdata.Mark) float64, o *Options) []item {
	items := make([]item, 0, len(marks))
	for i, m := range marks {
		it := item{mark: m, number: i, legend: m.Text}
		switch m.Kind {
		case graphdata.PRINT, graphdata.TEXTALIGN:
			it.legend = ""
		case graphdata.LINE, graphdata.HRULE, graphdata.VRULE:
			if it.legend != "" {
				it.legend = "  " + it.legend
			}
		}
		if m.Kind == graphdata.HRULE || m.Kind == graphdata.VRULE {
			it.value = value(m)
		}
		if !o.ForceRules && it.hidden(o) {
			it.legend = ""
		}
		it.legend = strings.ReplaceAll(it.legend, `\t`, "\t")
		items = append(items, it)
	}
	return items
}

// hidden reports whether a rule stands outside of the limits that the options give.
func (it *item) hidden(o *Options) bool {
	switch it.mark.Kind {
	case graphdata.HRULE:
		at := it.value
		if at != at && it.mark.Drawing.Variable < 0 { // HRULE:nan is judged as HRULE:0
			at = 0
		}
		return at < o.Min || at > o.Max
	case graphdata.VRULE:
		return it.outside(o)
	}
	return false
}

// outside reports whether a VRULE stands outside of the graph's range of time.
func (it *item) outside(o *Options) bool {
	at := trunc(it.value)
	return at < float64(o.Start) || at > float64(o.End)
}

// cutMarker takes the marker off the end of a legend.
func (it *item) cutMarker() error {
	n := len(it.legend)
	it.marker = 0
	if n < 2 || it.legend[n-2] != '\\' {
		return nil
	}
	it.marker = it.legend[n-1]
	if strings.IndexByte("lnrcjusg.", it.marker) < 0 {
		return fmt.Errorf("Unknown control code at the end of '%s\\%c'", it.legend[:n-2], it.marker)
	}
	it.legend = it.legend[:n-2]
	switch it.marker {
	case 'n':
		it.marker = 'l'
	case '.':
		it.marker = 0
	case 'g':
		it.legend = strings.TrimRight(it.legend, " ")
	}
	return nil
}

// A typesetter puts the items of a legend into lines.
type typesetter struct {
	l         *Layout
	available float64
	align     byte // of lines that do not say it themselves

	line   []LegendItem
	used   float64
	y, n   int
	widest float64
}

// placeLegend places a legend into a width, and returns how wide and how high it is with its
// borders.
func (l *Layout) placeLegend(items []item, width int) (w, h int, err error) {
	if l.o.NoLegend {
		return 0, 0, nil
	}
	l.Legend = nil
	border := l.border()
	t := typesetter{l: l, available: float64(width - 2*border), align: 'j'}
	for i := range items {
		it := items[i]
		if it.mark.Kind == graphdata.TEXTALIGN {
			t.align = map[string]byte{"left": 'l', "right": 'r', "center": 'c', "justified": 'j'}[it.mark.Text]
		}
		if err := it.cutMarker(); err != nil {
			return 0, 0, err
		}
		t.add(&it, i == len(items)-1)
	}
	if l.o.LegendDirection != TopDown {
		l.turnLegend()
	}
	w = int(t.widest) + 2*border
	return w, int(float64(t.y) + 0.6*float64(border)), nil
}

// add adds an item to the line. The line ends before an item that does not fit, and behind an item
// that says so or is the last.
func (t *typesetter) add(it *item, last bool) {
	marker, space := it.marker, t.l.border()
	if marker == 'g' {
		marker, space = 0, 0
	}
	for {
		before := t.used
		if it.legend != "" {
			x := t.l.item(it)
			x.space = space
			if t.used > 0 {
				t.used += float64(space)
			}
			t.used += x.Right
			t.line = append(t.line, x)
		}
		if marker != 0 {
			t.end(marker)
			return
		}
		t.widest = max(t.widest, t.used)
		full := t.used > t.available
		if full && len(t.line) > 1 { // it comes again, on the next line
			t.line, t.used = t.line[:len(t.line)-1], before
			t.end(t.alone(t.align))
			space = t.l.border()
			continue
		}
		if full || last {
			t.end(t.alone(t.align))
		}
		return
	}
}

// alone is the alignment of a line that may have one item.
func (t *typesetter) alone(align byte) byte {
	if len(t.line) == 1 && align == 'j' {
		return 'l'
	}
	return align
}

// end places the items of the line.
func (t *typesetter) end(align byte) {
	border := float64(t.l.border())
	t.widest = max(t.widest, t.used)
	x, glue := border, 0.0
	if t.available < unlimited/2 {
		switch align {
		case 'j':
			if len(t.line) > 1 {
				glue = (t.available - t.used) / float64(len(t.line)-1)
			}
		case 'c':
			x += (t.available - t.used) / 2
		case 'r':
			x += t.available - t.used
		}
	}
	for _, it := range t.line {
		width := it.Right
		it.Left, it.Right, it.Bottom, it.line = x, x+width, float64(t.y)+border, t.n
		t.l.Legend = append(t.l.Legend, it)
		x += width + float64(it.space) + glue
	}
	size := t.l.o.Fonts[Legend].Size
	if x > border || align == 's' {
		t.y = int(float64(t.y) + 1.8*size)
	}
	switch align {
	case 's':
		t.y = int(float64(t.y) - size)
	case 'u':
		t.y = int(float64(t.y) - 1.8*size)
	}
	t.line, t.used = t.line[:0], 0
	t.n++
}

// item is the text of an item, whose Right is how wide it is.
func (l *Layout) item(it *item) LegendItem {
	x := LegendItem{Text: it.legend, Mark: it.mark, runs: l.o.runs(it.legend)}
	x.Right = l.width(x.runs)
	x.Boxed = it.mark.Drawing != nil
	return x
}

// turnLegend turns the order of the lines round.
func (l *Layout) turnLegend() {
	items := l.Legend
	if l.o.LegendDirection == BottomUp2 {
		for len(items) > 0 && items[0].Mark.Kind == graphdata.COMMENT {
			items = items[1:]
		}
		for n := len(items); n > 0 && items[n-1].Mark.Kind == graphdata.COMMENT; n-- {
			items = items[:n-1]
		}
	}
	if len(items) == 0 {
		return
	}
	first, last := items[0].Bottom, items[len(items)-1].Bottom
	for i := range items {
		items[i].Bottom = first + last - items[i].Bottom
	}
}

// moveLegend moves what is placed to where the legend stands.
func (l *Layout) moveLegend(x, y float64) {
	for i := range l.Legend {
		it := &l.Legend[i]
		it.Left += x
		it.Right += x
		it.Bottom += y
		it.Top = it.Bottom - l.heightOf(it.runs)
	}
}

func trunc(v float64) float64 {
	if v != v {
		return math.MinInt64
	}
	return math.Trunc(v)
}
