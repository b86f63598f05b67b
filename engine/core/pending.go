package core

import (
	"encoding/binary"

	"github.com/rondo-db/rondo/rra"
)

// Coded rows wait for the next checkpoint in small chunks of the group's own:
// entries of a header and a segment, those of one series chained from the newest back.

const (
	pendChunk = 8 << 10
	// An entry: previous entry of the series + 1 (4), low half of the first row's
	// index (4), bytes (2), column (2), rows less one (1), the coded rows.
	pendHeader = 13
)

// A pending is coded rows in the order they were finished.
type pending struct {
	chunks [][]byte
	fill   []int    // bytes used of each chunk
	heads  []uint32 // by series: its newest entry + 1; 0: none
	bytes  int64
	rows   uint64
}

// room returns space for an entry with at most n bytes of rows, and its address.
func (p *pending) room(s *Store, n int) ([]byte, uint32) {
	last := len(p.chunks) - 1
	if last < 0 || p.fill[last]+pendHeader+n > pendChunk {
		p.chunks = append(p.chunks, s.memory.alloc(pendChunk))
		p.fill = append(p.fill, 0)
		last++
	}
	return p.chunks[last][p.fill[last]:], uint32(last*pendChunk + p.fill[last])
}

// add codes rows and appends them.
func (p *pending) add(s *Store, g *group, i, col int, base uint32, rows []float64, hint *rra.Hint) {
	pdps := g.c.streams[col/g.c.sources].pdps
	b, at := p.room(s, maxSegment(len(rows)))
	e := rra.AppendRows(b[:pendHeader], rows, pdps, hint)
	p.finish(g, b, at, i, col, base, len(rows), len(e)-pendHeader)
}

// maxSegment bounds the code of n rows.
func maxSegment(n int) int { return 10*n + 64 }

// runRows is how many rows of a long run one segment takes.
const runRows = 256 // what a byte less one holds

// addRun appends n equal rows that begin at index k.
func (p *pending) addRun(s *Store, g *group, i, col int, k int64, n int, v float64) {
	var rows [runRows]float64
	for j := range min(n, runRows) {
		rows[j] = v
	}
	var hint rra.Hint
	for n > 0 {
		m := min(n, runRows)
		p.add(s, g, i, col, uint32(k), rows[:m], &hint)
		k += int64(m)
		n -= m
	}
}

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
	b[12] = byte(rows - 1)
	p.heads[i] = at + 1
	p.fill[len(p.fill)-1] += pendHeader + size
	p.bytes += int64(pendHeader + size)
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
	size := int(binary.LittleEndian.Uint16(b[8:]))
	return entry{
		prev: binary.LittleEndian.Uint32(b), base: binary.LittleEndian.Uint32(b[4:]),
		col: int(binary.LittleEndian.Uint16(b[10:])), rows: int(b[12]) + 1,
		data: b[pendHeader : pendHeader+size],
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
func (p *pending) free(s *Store) {
	for _, b := range p.chunks {
		s.memory.release(b)
	}
	*p = pending{}
}
