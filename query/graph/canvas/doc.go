// Package canvas draws the shapes and texts of a graph, as PNG, SVG, PDF or EPS.
//
// [New] makes a [Canvas] of one [Format]. The caller fills polygons, strokes lines and places texts
// in pixels before zoom, with y downward from the top left corner, and calls Encode at the end. A
// Canvas serves one goroutine.
//
// No font of the machine is used. The package holds DejaVu Sans Mono and, for proportional
// families, DejaVu Sans, regular and bold; italic text is the same glyphs, slanted. [Width] and
// [Height] return how much room a text takes. They are the same for every format, so that a graph
// has the same layout in all of them.
//
// Text runs from left to right, one glyph a character and each a number of whole pixels wide.
// Characters that combine with the one before take no room of their own and are drawn over it.
// Kerning, ligatures, right-to-left order and double-width cells are not supported. A character
// that the fonts lack is drawn as a box, and so are control characters and bytes that are no UTF-8.
//
// Coordinates that are not a number are left out, and those far outside of the picture are moved
// nearer. Sizes have limits: see [MaxSide] and [MaxPixels].
package canvas
