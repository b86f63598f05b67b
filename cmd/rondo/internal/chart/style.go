package chart

import "fmt"

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
