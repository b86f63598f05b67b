package rows

import (
	"fmt"
	"slices"
)

// Append appends rows, coded as one strip, to dst. pdpsPerRow is the number of primary data points
// in a row. h is the Hint of the strip before; nil is allowed. Every double is kept to the bit,
// except that all NaNs become the same NaN.
func Append(dst []byte, rows []float64, pdpsPerRow int64, h *Hint) []byte {
	var local Hint
	if h == nil {
		h = &local
	}
	if len(rows) > 0 && uniform(rows) {
		return appendUniform(dst, rows[0], pdpsPerRow, h)
	}
	e := blockEncoder{pdps: pdpsPerRow, hint: h}
	return e.appendBlocks(dst, rows)
}

// AppendRun appends rows that all have the value x, coded as one strip. The bytes are the same for
// any number of rows.
func AppendRun(dst []byte, x float64, pdpsPerRow int64) []byte {
	return appendUniform(dst, x, pdpsPerRow, new(Hint))
}

// RunOf looks at the strip at the beginning of src. If all its rows are coded as one value, it
// returns that value and the number of bytes of the strip. It takes the same time for any number of
// rows.
func RunOf(src []byte, pdpsPerRow int64) (x float64, used int, ok bool) {
	if len(src) == 0 || src[0] > tagIntegerRest {
		return 0, 0, false
	}
	x, used, err := decodeUniform(src, pdpsPerRow)
	return x, used, err == nil
}

// MaxBytes returns the most bytes that Append writes for n rows.
func MaxBytes(n int) int { return 10*n + 64 }

// Decode appends the n rows of the strip at the beginning of src to dst. used is the number of
// bytes of the strip. n and pdpsPerRow must be those with which it was written. src may hold
// anything; if there is an error, Decode returns dst unchanged.
func Decode(dst []float64, src []byte, n int, pdpsPerRow int64) (rows []float64, used int, err error) {
	return DecodeRange(dst, src, n, pdpsPerRow, 0, n)
}

// DecodeRange is [Decode] for rows i to j-1 of a strip of n rows. It skips blocks before row i
// without unpacking them, and does not read blocks after row j. So used is the length of the strip
// only if j is n.
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
