package rows

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Tags of blocks, part of the format. Values not named here are refused.
const (
	tagUnknownRest  = 0x01 // every row from here to the end of the strip is unknown
	tagZeroRest     = 0x02 // every row from here to the end of the strip is +0
	tagPatternRest  = 0x03 // every row from here on is the double that follows
	tagIntegerRest  = 0x04 // every row from here on is scaled: m and q follow
	tagUnknownBlock = 0x05 // the rows of this block are unknown
	tagRawBlock     = 0x06 // the rows of this block are doubles as they are

	tagScaled  = 0x40 // integers q = round(x*m), m in the block's header
	tagPattern = 0x80 // bit patterns

	tagSource   = 0xc0 // mask: tagScaled or tagPattern
	tagMode     = 0x30 // mask: one of the modes
	modeOffset  = 0x00 // packed: q less a base
	modeDelta   = 0x10 // packed: q less the q before it
	modeDrift   = 0x20 // as modeDelta, less a constant
	flagOutlier = 0x08 // a list of rows kept as doubles is there (tagScaled only)
	flagPatch   = 0x04 // a list of deltas that outgrow the width is there
	flagUnknown = 0x02 // a list of runs of unknown rows is there
	flagSpare   = 0x01 // must be 0
)

const (
	blockRows = 128 // most rows of a block; part of the format
	// most bits of a correction in units in the last place; part of the format
	maxCorrection = 7
	maxScale      = math.MaxUint32 // part of the format

	maxPatchedWidth = 57 // patches on wider deltas gain nothing
)

var (
	errShort  = errors.New("rows: strip ends early")
	errHeader = errors.New("rows: damaged block header")
)

// A Hint is what [Append] learned from the previous strip of a stream of rows.
// It saves time and never decides what a strip means. The zero value knows nothing.
type Hint struct {
	scale uint32 // m of the last scaled block; 0: none
}

// Append appends rows, coded as one strip, to dst. pdpsPerRow is the number of
// primary data points of one row, h what was learned from the strip before (nil is allowed).
// Every double is kept to the bit, except that all NaNs become one NaN.
func Append(dst []byte, rows []float64, pdpsPerRow int64, h *Hint) []byte {
	var local Hint
	if h == nil {
		h = &local
	}
	if len(rows) > 0 && uniform(rows) {
		return appendUniform(dst, rows[0], pdpsPerRow, h)
	}
	return appendBlocks(dst, rows, pdpsPerRow, h)
}

// AppendRun appends any number of rows of the value x, coded as one strip: the same bytes for each
// number of them.
func AppendRun(dst []byte, x float64, pdpsPerRow int64) []byte {
	return appendUniform(dst, x, pdpsPerRow, new(Hint))
}

// RunOf returns the value of the rows of the strip that src begins with, and how many bytes it
// takes, if they are all of one value. It costs the same for any number of rows.
func RunOf(src []byte, pdpsPerRow int64) (x float64, used int, ok bool) {
	if len(src) == 0 || src[0] > tagIntegerRest {
		return 0, 0, false
	}
	x, used, err := decodeUniform(src, pdpsPerRow)
	return x, used, err == nil
}

// MaxBytes bounds how many bytes Append writes for n rows.
func MaxBytes(n int) int { return 10*n + 64 }

// MaxRunBytes bounds how many bytes AppendRun writes.
const MaxRunBytes = 64

func appendBlocks(dst []byte, rows []float64, pdps int64, h *Hint) []byte {
	var e blockEncoder
	e.pdps, e.hint = pdps, h
	for len(rows) > 0 {
		if uniform(rows) {
			return appendUniform(dst, rows[0], pdps, h)
		}
		n := blockLen(len(rows))
		dst = e.appendBlock(dst, rows[:n])
		rows = rows[n:]
	}
	return dst
}

// Decode appends the n rows of the strip that src begins with to dst, and says how many
// bytes of src the strip took. n and pdpsPerRow must be those it was written with.
// On an error dst comes back as it was; src may hold anything.
func Decode(dst []float64, src []byte, n int, pdpsPerRow int64) (rows []float64, used int, err error) {
	return DecodeRange(dst, src, n, pdpsPerRow, 0, n)
}

// DecodeRange is [Decode] for rows i to j-1 of a strip of n rows. It passes over blocks
// before row i without unpacking them and does not look at those after row j, so used is
// the length of the strip only if j is n.
func DecodeRange(dst []float64, src []byte, n int, pdpsPerRow int64, i, j int) (rows []float64, used int, err error) {
	if n < 0 || i < 0 || j < i || j > n {
		return dst, 0, fmt.Errorf("rows: range %d to %d of a strip of %d rows", i, j, n)
	}
	old := len(dst)
	out := slices.Grow(dst, j-i)[:old+j-i]
	used, err = decodeStrip(out[old:], src, n, pdpsPerRow, i)
	if err != nil {
		return dst, 0, err
	}
	return out, used, nil
}

// decodeStrip fills out with the rows from row `from` on of a strip of n rows.
func decodeStrip(out []float64, src []byte, n int, pdps int64, from int) (used int, err error) {
	end := from + len(out)
	for row := 0; row < n && (row < end || end == n); {
		if used >= len(src) {
			return 0, errShort
		}
		if src[used] <= tagIntegerRest {
			x, k, err := decodeUniform(src[used:], pdps)
			if err != nil {
				return 0, err
			}
			for i := range out {
				out[i] = x
			}
			return used + k, nil
		}
		size := blockLen(n - row)
		k := 0
		switch {
		case row+size <= from: // wholly before the range
			k, err = decodeBlock(nil, src[used:], size, pdps)
		case row >= from && size <= len(out):
			k, err = decodeBlock(out[:size], src[used:], size, pdps)
			out = out[size:]
		default:
			var buf [blockRows]float64
			k, err = decodeBlock(buf[:size], src[used:], size, pdps)
			out = out[copy(out, buf[max(from-row, 0):size]):]
		}
		if err != nil {
			return 0, fmt.Errorf("row %d, offset %d: %w", row, used, err)
		}
		used += k
		row += size
	}
	return used, nil
}

// blockLen says how many of the left rows of a strip the next block takes:
// blocks as few as may be, and of about one length. Part of the format.
func blockLen(left int) int {
	if left <= blockRows {
		return left
	}
	blocks := (left + blockRows - 1) / blockRows
	return (left + blocks - 1) / blocks
}

// uniform says whether all rows are one bit pattern, or all are NaN.
func uniform(rows []float64) bool {
	first := rows[0]
	if first != first {
		for _, x := range rows[1:] {
			if x == x {
				return false
			}
		}
		return true
	}
	b := math.Float64bits(first)
	for _, x := range rows[1:] {
		if math.Float64bits(x) != b {
			return false
		}
	}
	return true
}
