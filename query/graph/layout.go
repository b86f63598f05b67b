package graph

import (
	"math"
	"strings"

	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
)

// A Line is a line of a grid.
type Line struct {
	At    float64 // x or y, in pixels
	Major bool
}

// A Label is a text at a line of an axis.
type Label struct {
	At   float64 // x or y, in pixels
	Text string
}

// A Layout is where everything stands, in pixels before zoom, from the top left.
type Layout struct {
	o     *Options
	graph *Graph
	items []item

	ImageWidth, ImageHeight int
	Left, Top               float64 // of the graph
	Width, Height           int     // of the graph

	Min, Max float64 // of the y axis
	scale    scale

	XLines, YLines   []Line
	XLabels, YLabels []Label
	RightLabels      []Label // of the right axis

	TitleLines []string
	Legend     []LegendItem
	tabs       tabs

	margins
	legendWidth int // of one at a side

	// Failed is the error that rrdtool finds while it draws, and prints behind everything else.
	Failed error
}

// border is the gap between the items of a legend.
func (l *Layout) border() int { return int(2 * l.o.Fonts[Legend].Size) }

// margins are the sizes of what stands around a graph.
type margins struct {
	title, below, yLabel, vertical, rightLabel, watermark, tag int
}

const (
	// gap is how wide a margin is with nothing in it, in pixels.
	gap = 15
	// noLegendGap is what --no-legend leaves at the bottom, in pixels.
	noLegendGap = 7.5
	// unlimited is a width that every legend has room in.
	unlimited = math.MaxInt32
)

// maxTitleLines is how many lines of a title are drawn.
const maxTitleLines = 3

// titleLines splits a title at line ends, "\n" in two characters and <br>.
func titleLines(title string) []string {
	if title == "" {
		return nil
	}
	title = strings.NewReplacer("\\n", "\n", "<br>", "\n", "<br/>", "\n").Replace(title)
	lines := strings.Split(title, "\n")
	if len(lines) > 1 && lines[0] == "" {
		lines = lines[1:]
	}
	return lines[:min(len(lines), maxTitleLines)]
}

// A scale is the unit of the y axis.
type scale struct {
	digits     float64 // the power of the base that the numbers are of
	factor     float64 // base to that power
	viewDigits float64 // the power that numbers are shown in
	viewFactor float64 // what a number divided by factor is multiplied by to be shown
	symbol     byte    // of viewDigits; 0: it has no symbol
}

// y returns the place of a value, in pixels. A value that a logarithmic axis cannot show has its
// place at the bottom.
func (l *Layout) y(v float64) float64 {
	bottom, height := l.Top+float64(l.Height), float64(l.Height)
	if !l.o.Log {
		return bottom - height/(l.Max-l.Min)*(v-l.Min)
	}
	if v < l.Min {
		return bottom
	}
	return bottom - height/(math.Log10(l.Max)-math.Log10(l.Min))*(math.Log10(v)-math.Log10(l.Min))
}

// inside reports whether a line at a place lies within the graph.
func (l *Layout) inside(y float64) bool {
	y = math.Floor(y + 0.5)
	return y >= math.Floor(0.5+l.Top) && y <= math.Floor(0.5+l.Top+float64(l.Height))
}

// An item is a line of the graph that can have a legend.
type item struct {
	mark   graphdata.Mark
	number int     // of the line
	value  float64 // of HRULE and VRULE

	legend string // without its marker
	marker byte   // the letter of \l and its like; 0: none
}

// A LegendItem is a text of the legend, and where it stands.
type LegendItem struct {
	Text        string
	Left        float64 // pixels
	Bottom      float64 // of the text's logical box
	Right, Top  float64
	Mark        graphdata.Mark
	Boxed       bool // a box of the colour stands before it
	runs        []canvas.Run
	space, line int // the gap behind it; the line that it stands in
}

// tabs are the tab stops of the legend. The first text that is measured sets them for all texts.
type tabs struct {
	known       bool // by a text without tabs, at the left edge
	set         bool
	first, step float64
}
