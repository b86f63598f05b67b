package canvas

import (
	"image/color"
	"io"
)

// A Point is a place, in pixels before zoom. Y grows downward.
type Point struct{ X, Y float64 }

// A Rect is an upright rectangle from Min (top left) to Max (bottom right).
type Rect struct{ Min, Max Point }

// A Color has eight bits a channel. Red, green and blue are not multiplied by alpha.
type Color = color.NRGBA

// A Cap is the shape of the two ends of a line, and of the ends of its dashes.
type Cap uint8

// Shapes of ends.
const (
	ButtCap  Cap = iota // ends at the last point
	RoundCap            // ends with half a disc around the last point
)

// A Join is the shape of the corners of a line.
type Join uint8

// Shapes of corners.
const (
	MiterJoin Join = iota // pointed; cut off where the point is farther out than five widths
	RoundJoin
)

// A Stroke says how a line is drawn.
type Stroke struct {
	Width      float64 // pixels before zoom
	Color      Color
	Dash       []float64 // lengths that are drawn and left out in turn, pixels; empty draws all
	DashOffset float64   // where in Dash the line begins
	Cap        Cap
	Join       Join
}

// A Font is a size and a shape of the package's own fonts.
type Font struct {
	Size         float64 // points; one point is 100/72 pixels
	Bold, Italic bool
	Family       string // see Proportional; SVG names it before the package's own
}

// A Run is a piece of a text that looks the same throughout.
type Run struct {
	Text                            string
	Bold, Italic, Underline, Strike bool    // Bold and Italic add to the Font's
	Size                            float64 // points; 0 is the size of the Font
	Color                           *Color  // nil is the colour of the Text
}

// An Align says which part of a text stands at its point, along the line.
type Align uint8

// Parts of a text.
const (
	Left Align = iota
	Center
	Right
)

// A VAlign says which height of a text's logical box stands at its point. The box is as high as
// [Height] says, whatever the glyphs.
type VAlign uint8

// Heights of a text.
const (
	Top VAlign = iota
	Middle
	Baseline
	Bottom
)

// A Text is one line of text. Its logical box is placed by Align and VAlign, and is then turned
// around At.
type Text struct {
	At     Point
	Align  Align
	VAlign VAlign
	Angle  int // degrees counter-clockwise: 0, 90 (reads upward) or -90 (reads downward)
	Font   Font
	Color  Color
	Runs   []Run
}

// Plain returns the runs of a text without markup.
func Plain(s string) []Run { return []Run{{Text: s}} }

// A Canvas takes the parts of a picture, the lower ones first.
type Canvas interface {
	// Fill fills closed polygons. Where they overlap, the number of turns around a place decides:
	// it is filled unless that is zero.
	Fill(c Color, paths ...[]Point)
	// Gradient fills a closed polygon with colours that change from c1 at y1 to c2 at y2, and stay
	// the same beyond both.
	Gradient(path []Point, y1 float64, c1 Color, y2 float64, c2 Color)
	// Stroke draws a line through the points. It is not closed, unless the last point is the first.
	Stroke(s Stroke, path []Point)
	// Text draws a line of text.
	Text(t Text)
	// Clip confines what draw draws to a rectangle.
	Clip(r Rect, draw func())
	// Group gives what draw draws a name that scripts and style sheets find (id, a word; made
	// unique by the caller) and a title that people are shown. Both may be empty. Only SVG writes
	// them.
	Group(id, title string, draw func())
	// Fit reports whether lines look better where the caller aligns them to device pixels.
	Fit() bool
	// Len is how many bytes the picture has so far, without fonts; 0 for one of pixels.
	Len() int
	// Encode writes the picture. Nothing may be drawn afterwards. The error is the writer's.
	Encode(w io.Writer) error
}

// A Format is a file format of pictures.
type Format string

// File formats.
const (
	PNG Format = "PNG"
	SVG Format = "SVG"
	PDF Format = "PDF"
	EPS Format = "EPS"
)

// Options are further wishes. The zero value is the usual picture.
type Options struct {
	Title    string // of the document: SVG, PDF and EPS write it
	Hard     bool   // PNG: shapes have hard edges, without half-covered pixels
	HardText bool   // PNG: glyphs have hard edges
}
