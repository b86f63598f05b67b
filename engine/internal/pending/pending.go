// Package pending keeps coded rows that wait for the next checkpoint.
//
// A [Rows] holds those of one group of series, in small chunks of its own. A chunk is pieces: a
// header and the coded rows of one column. The pieces of one series are a chain from the newest to
// the oldest. Each call of [Rows.Add] makes one piece; a fetch and a checkpoint walk the chain of a
// series with [Rows.Each]. A checkpoint freezes the Rows of a group, writes them, and calls
// [Rows.Free].
package pending

import (
	"encoding/binary"

	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/rra/rows"
)

// The layout of a piece: offset and size of each field of its header, little-endian.
//
//	0  4  address of the piece before it of the same series, plus 1; 0: none
//	4  4  low half of the number of its first row
//	8  2  bytes of coded rows
//	10 2  column
//	12 1  rows; 0: there are more than 255, and their number follows
//	13 4  rows, if the byte before is 0
//
// The coded rows stand behind the header. The layout stays in memory: it is not part of the format.
const (
	shortHeader = 13
	longHeader  = shortHeader + 4
)

// ChunkSize is the size of a chunk, in bytes.
const ChunkSize = 8 << 10

// MaxHeader is the most that a piece takes beside its coded rows, in bytes.
const MaxHeader = longHeader

// MaxCode bounds the code of n rows, in bytes.
func MaxCode(n int) int { return 10*n + 64 }

// maxRunCode bounds the code of any number of rows of one value.
const maxRunCode = 64

// headerSize is the size of the header of a piece of n rows.
func headerSize(n int) int {
	if n > 255 {
		return longHeader
	}
	return shortHeader
}

// A Rows is coded rows in the order in which they were added. The zero Rows is empty; Prepare must
// be called before rows are added.
type Rows struct {
	pool   *memory.Pool
	chunks [][]byte
	fill   []int    // bytes used of each chunk
	newest []uint32 // by series: the address of its newest piece, plus 1; 0: none
	bytes  int64
	rows   uint64
}

// Prepare makes room for rows of n series, in chunks of pool.
func (r *Rows) Prepare(pool *memory.Pool, n int) {
	r.pool = pool
	if len(r.newest) < n {
		newest := make([]uint32, n)
		copy(newest, r.newest)
		r.newest = newest
	}
}

// Empty reports whether no rows were added.
func (r *Rows) Empty() bool { return len(r.chunks) == 0 }

// Bytes returns how many bytes the pieces take.
func (r *Rows) Bytes() int64 { return r.bytes }

// Count returns how many rows were added.
func (r *Rows) Count() uint64 { return r.rows }

// tail returns the free end of a chunk that has room for a piece with n bytes of coded rows, and
// the address of that end.
func (r *Rows) tail(n int) ([]byte, uint32) {
	last := len(r.chunks) - 1
	if last < 0 || r.fill[last]+longHeader+n > ChunkSize {
		r.chunks = append(r.chunks, r.pool.Alloc(ChunkSize))
		r.fill = append(r.fill, 0)
		last++
	}
	return r.chunks[last][r.fill[last]:], uint32(last*ChunkSize + r.fill[last])
}

// Add codes rows of a series and adds them. first is the low half of the number of the first row.
// pdps is the number of primary data points a row, and hint the coder's memory of the column.
func (r *Rows) Add(series, column int, first uint32, vals []float64, pdps int64, hint *rows.Hint) {
	b, at := r.tail(MaxCode(len(vals)))
	head := headerSize(len(vals))
	code := rows.Append(b[:head], vals, pdps, hint)
	r.finish(b, at, series, column, first, len(vals), len(code)-head)
}

// AddRun adds n rows of one value.
func (r *Rows) AddRun(series, column int, first uint32, n int, v float64, pdps int64) {
	b, at := r.tail(maxRunCode)
	head := headerSize(n)
	code := rows.AppendRun(b[:head], v, pdps)
	r.finish(b, at, series, column, first, n, len(code)-head)
}

// AddCoded adds n rows that are coded already: at most MaxCode(256) bytes.
func (r *Rows) AddCoded(series, column int, first uint32, n int, code []byte) {
	b, at := r.tail(len(code))
	copy(b[headerSize(n):], code)
	r.finish(b, at, series, column, first, n, len(code))
}

// finish writes the header of a piece, whose size bytes of coded rows stand in b already.
func (r *Rows) finish(b []byte, at uint32, series, column int, first uint32, n, size int) {
	binary.LittleEndian.PutUint32(b, r.newest[series])
	binary.LittleEndian.PutUint32(b[4:], first)
	binary.LittleEndian.PutUint16(b[8:], uint16(size))
	binary.LittleEndian.PutUint16(b[10:], uint16(column))
	head := headerSize(n)
	b[12] = byte(n)
	if head == longHeader {
		b[12] = 0
		binary.LittleEndian.PutUint32(b[shortHeader:], uint32(n))
	}
	r.newest[series] = at + 1
	r.fill[len(r.fill)-1] += head + size
	r.bytes += int64(head + size)
	r.rows += uint64(n)
}

// A Piece is coded rows of one column that were added at once.
type Piece struct {
	First  uint32 // low half of the number of the first row
	Column int
	Rows   int
	Code   []byte // valid until Free

	before uint32
}

// piece decodes the piece at an address.
func (r *Rows) piece(at uint32) Piece {
	b := r.chunks[at/ChunkSize][at%ChunkSize:]
	size, n, head := int(binary.LittleEndian.Uint16(b[8:])), int(b[12]), shortHeader
	if n == 0 {
		n, head = int(binary.LittleEndian.Uint32(b[shortHeader:])), longHeader
	}
	return Piece{
		before: binary.LittleEndian.Uint32(b), First: binary.LittleEndian.Uint32(b[4:]),
		Column: int(binary.LittleEndian.Uint16(b[10:])), Rows: n,
		Code: b[head : head+size],
	}
}

// Each calls fn with each piece of a series, newest first, until fn returns false.
func (r *Rows) Each(series int, fn func(Piece) bool) {
	if series >= len(r.newest) {
		return
	}
	for at := r.newest[series]; at != 0; {
		p := r.piece(at - 1)
		if !fn(p) {
			return
		}
		at = p.before
	}
}

// Free gives the chunks back to the pool and empties r.
func (r *Rows) Free() {
	for _, b := range r.chunks {
		r.pool.Release(b)
	}
	*r = Rows{}
}
