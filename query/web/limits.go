package web

import (
	"runtime"
	"time"
)

// The limits of one graph.
const (
	maxArgs    = 512              // arguments
	maxLines   = 256              // lines: DEF, CDEF, LINE and so on
	maxSide    = 4096             // pixels of the graph's width and height, after zoom
	maxPixels  = 4 << 20          // of the whole picture
	maxBytes   = 16 << 20         // of SVG, PDF and EPS, without fonts
	maxRange   = 200 * 366        // days from the start to the end
	maxRead    = 4 << 20          // values that are read: rows times data sources
	maxSpanned = 64 << 20         // the same with those that the archives do not hold
	maxWork    = 8 << 20          // values of all CDEFs together, and the work of each
	maxSent    = 2 << 20          // values that one answer in numbers has
	maxTime    = 20 * time.Second // for waiting and drawing
)

// The limits of all graphs together.
const (
	retryAfter     = "2"      // seconds, for those that no place became free for
	galleryBytes   = 16 << 20 // pictures that are kept for the next who asks
	galleryPicture = 1 << 20  // bytes of the largest picture that is kept
)

// drawingPlaces is how many graphs are drawn at once. Half of the processors are left to those who
// append.
func drawingPlaces() int64 { return max(1, int64(runtime.GOMAXPROCS(0))/2) }
