package web

import (
	"sync/atomic"

	"github.com/rondo-db/rondo/internal/histogram"
)

// counts are what a Server counts about graphs.
type counts struct {
	drawn, kept, unchanged, busy, failed atomic.Uint64
	seconds                              histogram.Histogram
}

// Stats are counts since the start of a Server.
type Stats struct {
	Drawn     uint64 // graphs that were drawn
	Kept      uint64 // graphs that were answered with a picture drawn for somebody else
	Unchanged uint64 // graphs that the client had already
	Busy      uint64 // graphs refused because no place became free in time
	Failed    uint64 // graphs refused for another reason
	Waiting   int    // graphs that wait or are being drawn
	Seconds   histogram.Snapshot
}
