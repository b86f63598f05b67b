package canvas

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pixelsPerPoint is what rrdtool draws text with: 100 dpi.
const pixelsPerPoint = 100.0 / 72

// maxFontSize is the largest size of text, in points. Larger sizes are drawn as this one.
const maxFontSize = 1000

// cells is how many glyphs lie between tab stops.
const cells = 8

// clampSize returns the size that text is drawn with.
func clampSize(points float64) float64 {
	if !(points > 0) {
		return 0
	}
	return min(points, maxFontSize)
}

// advance returns the width of a character in whole pixels.
func (id faceID) advance(c rune, points float64) float64 {
	return math.Floor(clampSize(points)*pixelsPerPoint*float64(id.units(c))/unitsPerEm + 0.5)
}

func ascent(points float64) float64 {
	return math.Ceil(clampSize(points) * pixelsPerPoint * unitAscent / unitsPerEm)
}

func descent(points float64) float64 {
	return math.Ceil(clampSize(points) * pixelsPerPoint * unitDescent / unitsPerEm)
}

// Height returns the height of a line of text in pixels: the ascent and the descent of the font,
// each rounded up.
func Height(f Font) float64 { return ascent(f.Size) + descent(f.Size) }

// Width returns the width of a line of text in whole pixels. Blanks at both ends count.
func Width(f Font, runs []Run) float64 {
	w, _, _ := Measure(f, runs)
	return w
}

// Measure returns the width of a line of text, and how far it reaches above and below its baseline,
// in pixels. Without a run of another size ascent and descent add up to [Height].
func Measure(f Font, runs []Run) (width, above, below float64) {
	above, below = ascent(f.Size), descent(f.Size)
	for _, r := range runs {
		size := runSize(f, r)
		above, below = max(above, ascent(size)), max(below, descent(size))
		width = end(f, r, width)
	}
	return width, above, below
}

// end returns where a run that begins at x ends.
func end(f Font, r Run, x float64) float64 {
	size, of := runSize(f, r), f.face(r)
	for _, c := range r.Text {
		x = after(f, of, size, x, c)
	}
	return x
}

func runSize(f Font, r Run) float64 {
	if r.Size > 0 {
		return r.Size
	}
	return f.Size
}

// after returns where the next glyph stands after character c at x.
func after(f Font, of faceID, size, x float64, c rune) float64 {
	switch {
	case c == '\t':
		stop := max(1, cells*of.advance(' ', f.Size))
		return (math.Floor(x/stop) + 1) * stop
	case unseen(c), unicode.In(c, unicode.Mn, unicode.Me):
		return x
	}
	return x + of.advance(c, size)
}

// unseen reports whether a character is an instruction to a text engine that is not here, such as a
// joiner, a selector of variants or a change of direction.
func unseen(c rune) bool {
	return c >= 0x80 && (unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Variation_Selector, c))
}

// shown returns a text without what has no picture: blanks for tabs and ends of lines, U+FFFD for
// other control characters and for bytes that are no UTF-8.
func shown(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return ' '
		case unseen(c):
			return -1
		}
		return drawable(c)
	}, s)
}

// drawable returns the character that is drawn for c: a box for what has no picture.
func drawable(c rune) rune {
	if unicode.IsControl(c) || c == 0x2028 || c == 0x2029 || !utf8.ValidRune(c) || c >= 0xfdd0 && c <= 0xfdef || c&0xfffe == 0xfffe {
		return utf8.RuneError
	}
	return c
}
