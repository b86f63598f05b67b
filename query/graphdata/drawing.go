package graphdata

import (
	"image/color"
	"strconv"

	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// A Drawing is how LINE, AREA, TICK, HRULE or VRULE draws.
type Drawing struct {
	Variable int           // what is drawn, for Program.Series; -1: Value
	Value    float64       // a number that stands in the line itself
	Colors   []color.NRGBA // one; of an AREA with a gradient two; none: nothing is drawn
	Width    float64       // of LINE in pixels
	Dashes   []float64     // lengths in pixels, drawn and not drawn in turn; none: a whole line
	Offset   float64       // of the dashes, in pixels

	Stack     bool // on what stands before it
	SkipScale bool // it does not count for the limits

	GradHeight float64 // of AREA: over how many pixels the colour changes
	Fraction   float64 // of TICK: how much of the height is drawn
}

// defaultGradHeight is the height of a gradient, in pixels, where none is given.
const defaultGradHeight = 50

// ParseColor reads RGB, RGBA, RRGGBB or RRGGBBAA in hexadecimal digits.
func ParseColor(text string) (c color.NRGBA, ok bool) {
	if !isColor(text) {
		return c, false
	}
	if len(text) <= 4 {
		long := make([]byte, 0, 8)
		for i := range len(text) {
			long = append(long, text[i], text[i])
		}
		text = string(long)
	}
	if len(text) == 6 {
		text += "ff"
	}
	n, err := strconv.ParseUint(text, 16, 32)
	return color.NRGBA{R: uint8(n >> 24), G: uint8(n >> 16), B: uint8(n >> 8), A: uint8(n)}, err == nil
}

// number returns the number in an argument that was checked before; 0 if the argument is empty.
func number(text string) float64 {
	v, err := rra.ParseNumber(text)
	if err != nil {
		return 0
	}
	return v
}

// dashLengths returns the lengths in an argument that was checked before: drawn and left out in
// turn. An odd number of lengths is gone through twice, so that each is drawn once and left out
// once.
func dashLengths(text string) []float64 {
	var lengths []float64
	for {
		v, n := rpn.ScanNumber(text)
		lengths = append(lengths, v)
		if n >= len(text) {
			return lengths
		}
		text = text[n+1:]
	}
}
