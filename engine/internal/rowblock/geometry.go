package rowblock

import (
	"github.com/rondo-db/rondo/rra"
)

// A Geometry says how the rows of one stream are laid out. Rows have numbers: row n ends n*Span
// seconds after 1970 began. Slot n holds the rows from n*Slot on. Buffer and Slot are part of the
// format.
type Geometry struct {
	Rows   int64 // rows the longest archive keeps
	Span   int64 // seconds a row
	PDPs   int64 // primary data points a row
	Buffer int64 // rows the buffer of a column holds: a power of two
	// rows a slot holds: a multiple of Buffer; an archive covers at most MaxSlots slots and one
	// begun
	Slot int64
}

// Limits of a geometry, part of the format.
const (
	MaxSlotRows = 2048 // most rows of a slot, unless the archive would then have more than MaxSlots
	MaxSlots    = 256  // most slots of an archive, not counting the one that has begun
	MaxBuffer   = 128  // most rows of a buffer
)

// NewGeometry chooses the layout of a stream of series with the given step. finest is the smallest
// number of primary data points a row among the streams of the series.
//
// The finest stream gains rows fastest, so it gets the longest buffer. Rows of other streams are
// coded in shorter strips first, and coded again when the blocks of a slot are merged. A slot is
// about a twelfth of the archive. Long archives have more slots, because a merge writes all blocks
// of a slot anew. They never have more than MaxSlots, because one gap in the readings can fill a
// place in each of them.
func NewGeometry(s rra.Stream, step, finest int64) Geometry {
	t := Geometry{Rows: s.Rows, Span: s.PDPs * step, PDPs: s.PDPs}
	t.Buffer = 8
	if s.PDPs == finest {
		t.Buffer = 32
	}
	slot := min(max(s.Rows/12, 2*t.Buffer), MaxSlotRows)
	slot = max(slot, (s.Rows+MaxSlots-1)/MaxSlots)
	t.Slot = (slot + t.Buffer - 1) / t.Buffer * t.Buffer
	return t
}

// FloorDiv returns a/b rounded down. Numbers of rows and slots before 1970 are negative.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
