package core

import (
	"encoding/binary"

	"github.com/rondo-db/rondo/rra/rows"
)

// Coded rows wait for the next checkpoint in small chunks of the group's own:
// entries of a header and a segment, those of one series chained from the newest back.

const (
	pendChunk = 8 << 10
	// An entry: previous entry of the series + 1 (4), low half of the first row's
	// index (4), bytes (2), column (2), rows (1), the coded rows. Where the rows are more than
	// a byte says, it is 0, and their number (4) follows.
	pendHeader = 13
	pendLong   = pendHeader + 4
)

// pendHead is the size of the header of an entry of n rows.
func pendHead(n int) int {
	if n > 255 {
		return pendLong
	}
	return pendHeader
}

// A pending is coded rows in the order they were finished.
type pending struct {
	chunks [][]byte
	fill   []int    // bytes used of each chunk
	heads  []uint32 // by series: its newest entry + 1; 0: none
	bytes  int64
	rows   uint64
}

// room returns space for an entry with at most n bytes of rows, and its address.
func (p *pending) tail(g *group, n int) ([]byte, uint32) {
	last := len(p.chunks) - 1
	if last < 0 || p.fill[last]+pendLong+n > pendChunk {
		p.chunks = append(p.chunks, g.c.space.Alloc(pendChunk))
		p.fill = append(p.fill, 0)
		last++
	}
	return p.chunks[last][p.fill[last]:], uint32(last*pendChunk + p.fill[last])
}

// add codes rows and appends them.
func (p *pending) add(g *group, i, col int, base uint32, vals []float64, hint *rows.Hint) {
	pdps := g.c.streams[col/g.c.sources].PDPs
	b, at := p.tail(g, rows.MaxBytes(len(vals)))
	head := pendHead(len(vals))
	e := rows.Append(b[:head], vals, pdps, hint)
	p.finish(g, b, at, i, col, base, len(vals), len(e)-head)
}

// addRun appends n rows of one value, all of one slot, that begin at index k.
func (p *pending) addRun(g *group, i, col int, k, n int64, v float64) {
	pdps := g.c.streams[col/g.c.sources].PDPs
	b, at := p.tail(g, rows.MaxRunBytes)
	head := pendHead(int(n))
	e := rows.AppendRun(b[:head], v, pdps)
	p.finish(g, b, at, i, col, uint32(k), int(n), len(e)-head)
}

// finish writes the header of an entry, whose size bytes of rows stand in b already.
func (p *pending) finish(g *group, b []byte, at uint32, i, col int, base uint32, rows, size int) {
	if len(p.heads) < g.capacity {
		heads := make([]uint32, g.capacity)
		copy(heads, p.heads)
		p.heads = heads
	}
	binary.LittleEndian.PutUint32(b, p.heads[i])
	binary.LittleEndian.PutUint32(b[4:], base)
	binary.LittleEndian.PutUint16(b[8:], uint16(size))
	binary.LittleEndian.PutUint16(b[10:], uint16(col))
	head := pendHead(rows)
	b[12] = byte(rows)
	if head == pendLong {
		b[12] = 0
		binary.LittleEndian.PutUint32(b[pendHeader:], uint32(rows))
	}
	p.heads[i] = at + 1
	p.fill[len(p.fill)-1] += head + size
	p.bytes += int64(head + size)
	p.rows += uint64(rows)
}

// An entry is one pending segment, decoded from its header.
type entry struct {
	prev uint32
	base uint32
	col  int
	rows int
	data []byte
}

func (p *pending) entry(at uint32) entry {
	b := p.chunks[at/pendChunk][at%pendChunk:]
	size, rows, head := int(binary.LittleEndian.Uint16(b[8:])), int(b[12]), pendHeader
	if rows == 0 {
		rows, head = int(binary.LittleEndian.Uint32(b[pendHeader:])), pendLong
	}
	return entry{
		prev: binary.LittleEndian.Uint32(b), base: binary.LittleEndian.Uint32(b[4:]),
		col: int(binary.LittleEndian.Uint16(b[10:])), rows: rows,
		data: b[head : head+size],
	}
}

// of calls fn with each entry of series i, newest first, until it returns false.
func (p *pending) of(i int, fn func(entry) bool) {
	if i >= len(p.heads) {
		return
	}
	for at := p.heads[i]; at != 0; {
		e := p.entry(at - 1)
		if !fn(e) {
			return
		}
		at = e.prev
	}
}

// free gives the chunks back.
func (p *pending) free(space *groupSpace) {
	for _, b := range p.chunks {
		space.Release(b)
	}
	*p = pending{}
}
