package rows

import (
	"errors"
	"math"
)

// Tags of blocks. They are part of the format; a decoder refuses all other values.
const (
	tagUnknownRest  = 0x01 // every row from here to the end of the strip is unknown
	tagZeroRest     = 0x02 // every row from here to the end of the strip is +0
	tagPatternRest  = 0x03 // every row from here to the end of the strip is the double that follows
	tagIntegerRest  = 0x04 // every row from here to the end of the strip is q/m: m and q follow
	tagUnknownBlock = 0x05 // the rows of this block are unknown
	tagRawBlock     = 0x06 // the rows of this block follow as doubles

	tagScaled  = 0x40 // the block holds integers q = round(x*m), with m in its header
	tagPattern = 0x80 // the block holds bit patterns

	tagSource   = 0xc0 // mask: tagScaled or tagPattern
	tagMode     = 0x30 // mask: one of the modes
	modeOffset  = 0x00 // packed are q minus a base
	modeDelta   = 0x10 // packed are q minus the q before it
	modeDrift   = 0x20 // as modeDelta, minus a constant
	flagOutlier = 0x08 // the block has a list of rows kept as doubles (tagScaled only)
	flagPatch   = 0x04 // the block has a list of deltas that need more bits than the width
	flagUnknown = 0x02 // the block has a list of runs of unknown rows
	flagSpare   = 0x01 // must be 0
)

const (
	// The following are part of the format.
	blockRows     = 128            // most rows of a block
	maxCorrection = 7              // most bits of a correction in units in the last place
	maxScale      = math.MaxUint32 // largest scale

	maxPatchedWidth = 57 // patches of wider deltas gain nothing
)

var (
	errShort  = errors.New("rows: strip ends early")
	errHeader = errors.New("rows: damaged block header")
)

// A Hint is what [Append] has learned from the previous strip of a stream of rows. It saves time
// when encoding; decoding needs no Hint. The zero value is one that has learned nothing.
type Hint struct {
	scale uint32 // m of the last scaled block; 0: none
}

// blockLen returns how many rows the next block has if left rows of the strip are left. It makes as
// few blocks as possible, of about the same length. It is part of the format.
func blockLen(left int) int {
	if left <= blockRows {
		return left
	}
	blocks := (left + blockRows - 1) / blockRows
	return (left + blocks - 1) / blocks
}
