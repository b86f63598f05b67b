package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"fmt"
	"image/color"
	"strconv"

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
	switch len(text) {
	case 3, 4:
		long := make([]byte, 0, 8)
		for i := range len(text) {
			long = append(long, text[i], text[i])
		}
		text = string(long)
	case 6, 8:
	default:
		return c, false
	}
	if len(text) == 6 {
		text += "ff"
	}
	n, err := strconv.ParseUint(text, 16, 32)
	return color.NRGBA{R: uint8(n >> 24), G: uint8(n >> 16), B: uint8(n >> 8), A: uint8(n)}, err == nil
}

// dashLengths returns the lengths in an argument, which are drawn and left out in turn: numbers
// with commas between them. An odd number of lengths is gone through twice, so that each is drawn
// once and left out once.
func dashLengths(text string) (lengths []float64, err error) {
	for {
		v, n := rpn.ScanNumber(text)
		if n == 0 {
			return nil, fmt.Errorf("Could not parse number: %s", text)
		}
		lengths = append(lengths, v)
		if text = text[n:]; text == "" {
			return lengths, nil
		}
		if text[0] != ',' {
			return nil, fmt.Errorf("expected a ',' at : %s", text)
		}
		text = text[1:]
	}
}
