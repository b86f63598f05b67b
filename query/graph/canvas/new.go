package canvas

import (
	"errors"
	"fmt"
	"math"
)

// Limits of the size of a picture, after zoom.
const (
	MaxSide   = 32767   // pixels, of width and height
	MaxPixels = 1 << 24 // width times height; a PNG takes four bytes a pixel while it is drawn
)

// ErrSize is the error of [New] for a picture without a pixel, or one over the limits.
var ErrSize = errors.New("picture size")

// New returns an empty canvas, transparent, of the given size in pixels before zoom. A PNG has
// whole pixels: its width and height are cut to an integer after zoom. The error wraps [ErrSize],
// or is about an unknown format.
func New(format Format, width, height, zoom float64, o Options) (Canvas, error) {
	w, h := width*zoom, height*zoom
	switch {
	case !(w >= 1 && h >= 1 && zoom > 0 && width > 0): // not a number is neither
		return nil, fmt.Errorf("%w: %gx%g pixels, zoomed by %g, is less than a pixel", ErrSize, width, height, zoom)
	case w > MaxSide || h > MaxSide || math.Trunc(w)*math.Trunc(h) > MaxPixels:
		return nil, fmt.Errorf("%w: %.0fx%.0f pixels are more than %d on a side or %d in all", ErrSize, w, h, MaxSide, MaxPixels)
	}
	switch format {
	case PNG:
		return &bitmap{newRaster(int(w), int(h), zoom, o)}, nil
	case SVG:
		return newSVG(width, height, zoom, o), nil
	case PDF:
		return newPDF(width, height, zoom, o), nil
	case EPS:
		return newEPS(width, height, zoom, o), nil
	}
	return nil, fmt.Errorf("no canvas draws %v", format)
}
