package core

import (
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rows"
)

// The rows of a column pass through its buffer. When the last row of a block has come, all rows of
// the block are coded at once. A row that was never written is unknown, so that unknown rows at the
// beginning of a block need no place in the buffer.
//
// Row k of a column stands in row k mod Buffer of its buffers. A row of the buffers holds the
// values of all series of the group, so that series which are written together share cache lines.

// buffer returns the row of the buffers that holds row k of a column.
func (g *group) buffer(col int, st *rowblock.Geometry, k int64) []float64 {
	at := (g.c.colOff[col] + int(k&(st.Buffer-1))) * g.pitch
	return g.bufs[at : at+g.capacity]
}

// openRows appends to dst the n rows from base on that the buffer of series i holds.
func (g *group) openRows(dst []float64, i, col, n int, base uint32) []float64 {
	c := g.c
	at := len(dst)
	dst = slices.Grow(dst, n)[:at+n]
	// A buffer never holds rows of two blocks, so they stand one after the other.
	from := (c.colOff[col]+int(base)&int(c.streams[col/c.sources].Buffer-1))*g.pitch + i
	for j := range dst[at:] {
		dst[at+j] = g.bufs[from]
		from += g.pitch
	}
	return dst
}

// A bufferCoder is the working memory with which a shard codes the rows of full buffers.
type bufferCoder struct {
	rows.Coder
	vals []float64 // the rows at hand, series by series
}

// room returns room for n rows.
func (co *bufferCoder) room(n int) []float64 {
	if n > len(co.vals) {
		co.vals = make([]float64, n)
	}
	return co.vals[:n]
}

// push takes rows that the series at index i has closed into its buffer. Full buffers are coded.
func (g *group) push(co *bufferCoder, i int, r *rra.Run) {
	c := g.c
	col := int(r.Stream)
	if c.sources != 1 {
		col = col*c.sources + int(r.DS)
	}
	st := &c.streams[r.Stream]
	at := col*g.capacity + i
	n := int(g.bufN[at])
	k, count := r.First, r.Count
	if n > 0 && g.bufBase[at]+uint32(n) != uint32(k) {
		g.flush(co, i, col, n)
		n = 0
	}
	mask := st.Buffer - 1
	if count == 1 && n > 0 { // the common case
		g.bufs[(c.colOff[col]+int(k&mask))*g.pitch+i] = r.Value
		n++
		if k&mask == mask {
			g.flush(co, i, col, n)
			n = 0
		}
		g.bufN[at] = uint8(n)
		return
	}
	for count > 0 {
		if n == 0 {
			if math.IsNaN(r.Value) {
				break
			}
			if count > st.Buffer {
				k, count = g.pushRun(i, col, st, k, count, r.Value)
				continue
			}
			g.bufBase[at] = uint32(k)
		}
		m := min(count, st.Buffer-k&mask)
		for j := range m {
			g.buffer(col, st, k+j)[i] = r.Value
		}
		n += int(m)
		k += m
		count -= m
		if k&mask == 0 {
			g.flush(co, i, col, n)
			n = 0
		}
	}
	g.bufN[at] = uint8(n)
}

// waiting returns the coded rows since the last snapshot, ready for more rows.
func (g *group) waiting() *pending.Rows {
	g.pend.Prepare(&g.c.space.Pool, g.capacity)
	return &g.pend
}

// flush codes the n rows in the buffer of a column and adds them to the pending rows.
func (g *group) flush(co *bufferCoder, i, col, n int) {
	at := col*g.capacity + i
	base := g.bufBase[at]
	vals := g.openRows(co.room(n)[:0], i, col, n, base)
	g.waiting().Add(&co.Coder, i, col, base, vals, g.c.streams[col/g.c.sources].PDPs, &g.hints[at])
}

// pushBlock takes a row of a column of many series into their buffers.
func (g *group) pushBlock(co *bufferCoder, index []int32, r *rra.BlockRows) {
	c := g.c
	col := int(r.Stream)*c.sources + int(r.DS)
	st := &c.streams[r.Stream]
	mask := st.Buffer - 1
	line := g.buffer(col, st, r.K)
	b := g.column(col)
	k := uint32(r.K)
	for j, i := range index {
		v := r.Values[j]
		switch n := b.n[i]; {
		case n == 0:
			if v == v {
				b.base[i], b.n[i], line[i] = k, 1, v
			}
		case b.base[i]+uint32(n) == k:
			line[i] = v
			b.n[i] = n + 1
		default:
			g.push(co, int(i), &rra.Run{Stream: r.Stream, DS: r.DS, First: r.K, Count: 1, Value: v})
		}
	}
	if r.K&mask != mask {
		return
	}
	g.flushBlock(co, index, col, st)
}

// flushBlock codes the buffers of a column of many series, whose last rows have come, and empties
// them. It reads the buffers row by row, as they lie in memory.
func (g *group) flushBlock(co *bufferCoder, index []int32, col int, st *rowblock.Geometry) {
	size := int(st.Buffer)
	vals := co.room(size * len(index))
	for j := range size {
		line := g.buffer(col, st, int64(j))
		at := j
		for _, i := range index {
			vals[at] = line[i]
			at += size
		}
	}
	b, waiting := g.column(col), g.waiting()
	for j, i := range index {
		if n := int(b.n[i]); n > 0 {
			waiting.Add(&co.Coder, int(i), col, b.base[i], vals[(j+1)*size-n:(j+1)*size], st.PDPs, &b.hints[i])
			b.n[i] = 0
		}
	}
}
