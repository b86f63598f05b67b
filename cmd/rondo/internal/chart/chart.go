package chart

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/quantity"
)

// A Chart is what Draw draws.
type Chart struct {
	Title string
	// Notes stand behind the title where there is room. The last one is the most important.
	Notes      []string
	Start, End int64 // seconds since 1970; the chart shows (Start, End]
	Location   *time.Location
	Lines      []Line

	Width, Height int      // cells, with title, axes and legend
	Lower, Upper  *float64 // limits of the value axis; nil: the values decide
	Log, Stack    bool
	Unit          string
	Binary        bool // prefixes are Ki, Mi, Gi, as they are for B
	ASCII         bool // no other characters
	Plain         bool // no colours: lines differ by dashes
	NoLegend      bool
}

// The least size that Draw draws in.
const (
	LeastWidth  = 24
	LeastHeight = 6
)

// in returns the scale of values.
func (c *Chart) in(values ...float64) quantity.Scale {
	base := 0
	if c.Binary {
		base = 1024
	}
	return quantity.Of(c.Unit, base, values...)
}

var common = strings.NewReplacer("µ", "u", "°", "", "∞", "Inf")

// text returns a text of package quantity as the chart shows it.
func (c *Chart) text(s string) string {
	if s = quantity.Plain(s); c.ASCII {
		return common.Replace(s)
	}
	return s
}

// ellipsis stands for what is left out of a text.
func (c *Chart) ellipsis() string {
	if c.ASCII {
		return ".."
	}
	return "…"
}

// The bars of a sparkline, from the smallest to the largest value.
var (
	bars      = []rune("▁▂▃▄▅▆▇█")
	asciiBars = []rune("_.-=+*#@")
)

// Spark draws values as a line of bars, one cell for each value. If there are more values than
// cells, several share one, which shows the greatest of them. Unknown values leave a gap.
func Spark(values []float64, width int, ascii bool) string {
	least, greatest := math.NaN(), math.NaN()
	for _, v := range values {
		least, greatest = fmin(least, v), fmax(greatest, v)
	}
	set := bars
	if ascii {
		set = asciiBars
	}
	width = min(len(values), width)
	line := make([]rune, width)
	for i := range line {
		top := math.NaN()
		for _, v := range values[i*len(values)/width : (i+1)*len(values)/width] {
			top = fmax(top, v)
		}
		switch part := (top - least) / (greatest - least); {
		case math.IsNaN(top):
			line[i] = ' '
		case math.IsNaN(part): // all values are equal, or infinite
			line[i] = set[0]
		default:
			line[i] = set[min(int(part*float64(len(set))), len(set)-1)]
		}
	}
	return string(line)
}

// A Style says how a cell looks.
type Style struct {
	// Color is an index of the terminal's palette of 256 colours, plus one; 0 is the terminal's own
	// colour of text.
	Color   uint16
	Dim     bool
	Bold    bool
	Reverse bool
}

// Colors says which escape sequences Print writes.
type Colors int

// The kinds of terminals.
const (
	NoColors  Colors = iota // no escape sequences at all
	Colors16                // the eight basic colours and their bright forms
	Colors256               // the palette of 256
)

// sequence returns the escape sequence that turns any style into s.
func (s Style) sequence(colors Colors) string {
	out := "\x1b[0"
	if s.Bold {
		out += ";1"
	}
	if s.Dim {
		out += ";2"
	}
	if s.Reverse {
		out += ";7"
	}
	if s.Color > 0 {
		index := int(s.Color) - 1
		if colors == Colors16 {
			index = basic(index)
		}
		switch {
		case index < 8:
			out += fmt.Sprintf(";%d", 30+index)
		case index < 16:
			out += fmt.Sprintf(";%d", 90+index-8)
		default:
			out += fmt.Sprintf(";38;5;%d", index)
		}
	}
	return out + "m"
}

// palette are colours of lines that can be distinguished on dark and on light backgrounds: of
// middle brightness, and of different brightness where the hue is near. Beside each stands the
// basic colour for terminals that have no more than 16.
var palette = []struct {
	index int
	basic int
}{
	{33, 4},  // blue
	{208, 3}, // orange
	{35, 2},  // green
	{161, 1}, // red
	{135, 5}, // violet
	{37, 6},  // teal
	{169, 13},
	{136, 11},
}

// LineColor returns the style of line i of a chart.
func LineColor(i int) Style { return Style{Color: uint16(palette[i%len(palette)].index) + 1} }

// basic returns the colour of 16 for one of the palette.
func basic(index int) int {
	for _, p := range palette {
		if p.index == index {
			return p.basic
		}
	}
	return index % 16
}

// letters draw lines in ASCII.
const letters = "*+ox#%@&"

// dashes are the patterns of braille lines where no colours distinguish them: how many dot columns
// are drawn, and how many are left out.
var dashes = [][2]int{{1, 0}, {3, 2}, {1, 1}, {6, 2}, {1, 3}, {8, 4}}
