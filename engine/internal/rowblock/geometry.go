package rowblock

import (
	"math"

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
	Slot   int64 // rows a slot holds: a multiple of Buffer
}

// Limits of a geometry, part of the format.
const (
	slowPDPs    = 32   // a row of so many primary data points comes seldom
	MaxSlotRows = 2048 // most rows of a slot, unless the archive would then have more than MaxSlots
	MaxSlots    = 256  // most slots of an archive, not counting the one that has begun
	MaxBuffer   = 32   // most rows of a buffer
)

// Layout returns the geometries of the streams of series with the given step. They follow from the
// shape of the series: the database does not keep them.
//
// The finest stream gains rows fastest, so it gets the longest buffer. Rows of other streams are
// coded in shorter strips first, and coded again when the blocks of a slot are merged. Rows that
// come seldom cost little however they are coded, so their buffers are the shortest. A slot is
// about a twelfth of the archive. Long archives have more slots, because a merge writes all blocks
// of a slot anew. They never have more than MaxSlots, because one gap in the readings can fill a
// place in each of them.
func Layout(streams []rra.Stream, step int64) []Geometry {
	finest := int64(math.MaxInt64)
	for _, s := range streams {
		finest = min(finest, s.PDPs)
	}
	out := make([]Geometry, len(streams))
	for i, s := range streams {
		buffer, least := int64(8), int64(16) // least rows of a slot
		switch {
		case s.PDPs == finest:
			buffer, least = MaxBuffer, 2*MaxBuffer
		case s.PDPs >= slowPDPs:
			buffer = 4
		}
		slot := max(min(max(s.Rows/12, least), MaxSlotRows), (s.Rows+MaxSlots-1)/MaxSlots)
		slot = (slot + buffer - 1) / buffer * buffer
		out[i] = Geometry{Rows: s.Rows, Span: s.PDPs * step, PDPs: s.PDPs, Buffer: buffer, Slot: slot}
	}
	return out
}

// FloorDiv returns a/b rounded down. Numbers of rows and slots before 1970 are negative.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
