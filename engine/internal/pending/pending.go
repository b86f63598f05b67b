// Package pending keeps coded rows that wait for the next checkpoint.
//
// A [Rows] holds the rows of one group of series, in small chunks of its own. A chunk is pieces: a
// header and the coded rows of one column. The pieces of one series are a chain from the newest to
// the oldest. Each call of [Rows.Add] makes one piece; a fetch and a checkpoint walk the chain of a
// series with [Rows.Each]. A checkpoint freezes the Rows of a group, writes them, and calls
// [Rows.Free].
package pending

import (
	"encoding/binary"
	"math"

	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/rra/rows"
)

// A piece begins with a short header, if its fields fit: offset and size of each, little-endian.
//
//	0  2  distance to the piece before it of the same series, in bytes; 0: none
//	2  1  rows
//	3  1  column
//	4  1  bytes of coded rows
//	5  2  first row: its distance from a row of the column that Rows.bases has, signed
//
// Otherwise it begins with a long header:
//
//	0  2  not used
//	2  1  0, which no short header has here
//	3  4  address of the piece before it of the same series, plus 1; 0: none
//	7  4  low half of the number of its first row
//	11 2  bytes of coded rows
//	13 2  column
//	15 4  rows
//
// The coded rows stand behind the header. A piece has eight rows in most cases, and these often
// take less than ten bytes: every byte of the header counts. The layout stays in memory: it is not
// part of the format.
const (
	shortHeader = 7
	longHeader  = 19
)

// ChunkSize is the size of a chunk, in bytes.
const ChunkSize = 8 << 10

// MaxHeader is the most that a piece takes beside its coded rows, in bytes.
const MaxHeader = longHeader

// maxRunCode bounds the code of any number of rows of one value.
const maxRunCode = 64

// A Rows is coded rows in the order in which they were added. The zero Rows is empty; Prepare must
// be called before rows are added.
type Rows struct {
	pool   *memory.Pool
	chunks [][]byte
	fill   []int    // bytes used of each chunk
	newest []uint32 // by series: the address of its newest piece, plus 1; 0: none
	bases  []uint32 // by column: the row that short headers count from; 0: none yet
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

// Add codes rows of a series with co and adds them. first is the low half of the number of the
// first row. pdps is the number of primary data points a row, and hint what the coder knows of the
// column.
func (r *Rows) Add(co *rows.Coder, series, column int, first uint32, vals []float64, pdps int64, hint *rows.Hint) {
	b, at := r.tail(rows.MaxBytes(len(vals)))
	code := co.Append(b[:shortHeader], vals, pdps, hint)
	r.finish(b, at, series, column, first, len(vals), len(code)-shortHeader)
}

// AddRun adds n rows of one value.
func (r *Rows) AddRun(series, column int, first uint32, n int, v float64, pdps int64) {
	b, at := r.tail(maxRunCode)
	code := rows.AppendRun(b[:shortHeader], v, pdps)
	r.finish(b, at, series, column, first, n, len(code)-shortHeader)
}

// AddCoded adds n rows that are coded already: at most rows.MaxBytes(256) bytes.
func (r *Rows) AddCoded(series, column int, first uint32, n int, code []byte) {
	b, at := r.tail(len(code))
	copy(b[shortHeader:], code)
	r.finish(b, at, series, column, first, n, len(code))
}

// finish writes the header of a piece, whose size bytes of coded rows stand behind a short header
// in b. For a long header it moves them.
func (r *Rows) finish(b []byte, at uint32, series, column int, first uint32, n, size int) {
	before := r.newest[series] // an address plus 1
	distance := uint32(0)
	if before > 0 {
		distance = at + 1 - before
	}
	row := int32(first - r.base(column, first))
	head := shortHeader
	if uint(n-1) < math.MaxUint8 && size <= math.MaxUint8 && column <= math.MaxUint8 && distance <= math.MaxUint16 && row == int32(int16(row)) {
		binary.LittleEndian.PutUint16(b, uint16(distance))
		b[2], b[3], b[4] = byte(n), byte(column), byte(size)
		binary.LittleEndian.PutUint16(b[5:], uint16(row))
	} else {
		head = longHeader
		copy(b[longHeader:], b[shortHeader:shortHeader+size])
		b[2] = 0
		binary.LittleEndian.PutUint32(b[3:], before)
		binary.LittleEndian.PutUint32(b[7:], first)
		binary.LittleEndian.PutUint16(b[11:], uint16(size))
		binary.LittleEndian.PutUint16(b[13:], uint16(column))
		binary.LittleEndian.PutUint32(b[15:], uint32(n))
	}
	r.newest[series] = at + 1
	r.fill[len(r.fill)-1] += head + size
	r.bytes += int64(head + size)
	r.rows += uint64(n)
}

// base returns the row that short headers of a column count from. The first piece of a column sets
// it to its own first row or to the next one: 0 says that no piece has set it.
func (r *Rows) base(column int, first uint32) uint32 {
	if column >= len(r.bases) {
		r.bases = append(r.bases, make([]uint32, column+1-len(r.bases))...)
	}
	if r.bases[column] == 0 {
		r.bases[column] = first | 1
	}
	return r.bases[column]
}

// A Piece is coded rows of one column that were added at once.
type Piece struct {
	First  uint32 // low half of the number of the first row
	Column int
	Rows   int
	Code   []byte // valid until Free

	before uint32 // the address of the piece before it, plus 1; 0: none
}

// piece decodes the piece at an address.
func (r *Rows) piece(at uint32) Piece {
	b := r.chunks[at/ChunkSize][at%ChunkSize:]
	if n := int(b[2]); n > 0 {
		p := Piece{Rows: n, Column: int(b[3]), Code: b[shortHeader : shortHeader+int(b[4])]}
		p.First = r.bases[p.Column] + uint32(int16(binary.LittleEndian.Uint16(b[5:])))
		p.before = shortBefore(b, at+1)
		return p
	}
	return Piece{
		before: binary.LittleEndian.Uint32(b[3:]), First: binary.LittleEndian.Uint32(b[7:]),
		Column: int(binary.LittleEndian.Uint16(b[13:])), Rows: int(binary.LittleEndian.Uint32(b[15:])),
		Code: b[longHeader : longHeader+int(binary.LittleEndian.Uint16(b[11:]))],
	}
}

// shortBefore returns the address of the piece before the one at an address, both plus 1; 0: none.
// b begins with the short header of that piece.
func shortBefore(b []byte, at uint32) uint32 {
	if distance := uint32(binary.LittleEndian.Uint16(b)); distance > 0 {
		return at - distance
	}
	return 0
}

// Each calls fn with each piece of a series that has one of n columns from first on, newest first,
// until fn returns false.
func (r *Rows) Each(series, first, n int, fn func(Piece) bool) {
	if series >= len(r.newest) {
		return
	}
	for at := r.newest[series]; at != 0; {
		b := r.chunks[(at-1)/ChunkSize][(at-1)%ChunkSize:]
		if short := b[2] > 0; short && uint(int(b[3])-first) >= uint(n) {
			at = shortBefore(b, at)
			continue
		}
		p := r.piece(at - 1)
		if uint(p.Column-first) < uint(n) && !fn(p) {
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
