package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/rondo-db/rondo/rra"
)

// A row block holds rows of one slot of one stream for the series of a group:
//
//	version (1), columns (2), then for each column the end of its bytes (4 each),
//	the bytes of the columns, checksum (4)
//
// A column is segments: rows to skip, rows, coded rows. Part of the format.
const (
	blockVersion = 1
	blockHead    = 3
)

var errSum = errors.New("checksum does not match")

// rowKey addresses a block: stream, slot and sub-block first, so that what a
// checkpoint writes stands together and what expires stands together.
func rowKey(dst []byte, class uint32, stream int, slot int64, sub uint16, group uint32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, class)
	dst = append(dst, byte(stream>>8), byte(stream))
	dst = binary.BigEndian.AppendUint64(dst, uint64(slot)^1<<63)
	dst = binary.BigEndian.AppendUint16(dst, sub)
	return binary.BigEndian.AppendUint32(dst, group)
}

const rowKeySize = 4 + 2 + 8 + 2 + 4

// parseRowKey is the inverse of rowKey.
func parseRowKey(k []byte) (class uint32, stream int, slot int64, sub uint16, group uint32, ok bool) {
	if len(k) != rowKeySize {
		return 0, 0, 0, 0, 0, false
	}
	return binary.BigEndian.Uint32(k), int(binary.BigEndian.Uint16(k[4:])),
		int64(binary.BigEndian.Uint64(k[6:]) ^ 1<<63), binary.BigEndian.Uint16(k[14:]), binary.BigEndian.Uint32(k[16:]), true
}

// A segment is coded rows of one column on their way into a block.
type segment struct {
	stream int
	slot   int64
	column int // index of the series * sources + source
	skip   int // rows of the slot before it
	rows   int
	data   []byte
}

func compareSegments(a, b segment) int {
	switch {
	case a.stream != b.stream:
		return a.stream - b.stream
	case a.slot != b.slot:
		if a.slot < b.slot {
			return -1
		}
		return 1
	case a.column != b.column:
		return a.column - b.column
	}
	return a.skip - b.skip
}

// appendBlock codes segments, all of one slot and sorted, as a block.
func appendBlock(dst []byte, segs []segment) []byte {
	start := len(dst)
	columns := segs[len(segs)-1].column + 1
	dst = append(dst, blockVersion, byte(columns), byte(columns>>8))
	table := len(dst)
	dst = append(dst, make([]byte, 4*columns)...)
	data := len(dst)
	next := 0
	for i := range segs {
		sg := &segs[i]
		for ; next < sg.column; next++ {
			binary.LittleEndian.PutUint32(dst[table+4*next:], uint32(len(dst)-data))
		}
		dst = appendSegment(dst, sg)
	}
	binary.LittleEndian.PutUint32(dst[table+4*next:], uint32(len(dst)-data))
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

func appendSegment(dst []byte, sg *segment) []byte {
	dst = binary.AppendUvarint(dst, uint64(sg.skip))
	dst = binary.AppendUvarint(dst, uint64(sg.rows))
	return append(dst, sg.data...)
}

// columns returns how many columns a block has.
func columns(block []byte) int {
	if len(block) < blockHead {
		return 0
	}
	return int(block[1]) | int(block[2])<<8
}

// column returns the bytes of one column of a block, empty if it has none.
func column(block []byte, i int) ([]byte, error) {
	if len(block) < blockHead+4 || block[0] != blockVersion {
		return nil, errRecord
	}
	n := columns(block)
	if i >= n {
		return nil, nil
	}
	data := blockHead + 4*n
	from := uint32(0)
	if i > 0 {
		if len(block) < blockHead+4*i {
			return nil, errRecord
		}
		from = binary.LittleEndian.Uint32(block[blockHead+4*(i-1):])
	}
	if len(block) < data+4 {
		return nil, errRecord
	}
	to := binary.LittleEndian.Uint32(block[blockHead+4*i:])
	if from > to || uint64(data)+uint64(to) > uint64(len(block)-4) {
		return nil, errRecord
	}
	return block[data+int(from) : data+int(to)], nil
}

// A span is rows wanted of a column: rows[0] stands at index from.
type span struct {
	from int64
	rows []float64
	step int // distance of two rows in rows: the number of sources
}

// put stores rows that begin at index k.
func (p *span) put(k int64, rows []float64) {
	to := p.from + int64((len(p.rows)+p.step-1)/p.step) // the last row may lack what stands after it
	if k < p.from {
		if p.from-k >= int64(len(rows)) {
			return
		}
		rows = rows[p.from-k:]
		k = p.from
	}
	if k >= to {
		return
	}
	rows = rows[:min(int64(len(rows)), to-k)]
	at := int(k-p.from) * p.step
	if p.step == 1 {
		copy(p.rows[at:], rows)
		return
	}
	for _, v := range rows {
		p.rows[at] = v
		at += p.step
	}
}

// readColumn decodes the segments of a column of a slot into p.
func readColumn(b []byte, st *stream, slot int64, p *span, buf []float64) ([]float64, error) {
	r := reader{b: b}
	for next := uint64(0); len(r.b) > 0; {
		skip, n := r.uvarint(), r.uvarint()
		if r.err != nil || skip < next || skip > uint64(st.slot) || n > uint64(st.slot)-skip {
			return buf, errRecord
		}
		next = skip + n
		rows, used, err := rra.DecodeRows(buf[:0], r.b, int(n), st.pdps)
		if err != nil {
			return buf, fmt.Errorf("%w: %w", errRecord, err)
		}
		buf = rows
		r.b = r.b[used:]
		p.put(slot*st.slot+int64(skip), rows)
	}
	return buf, nil
}

// splitColumn calls fn with each segment of a column.
func splitColumn(b []byte, st *stream, fn func(skip, rows int, data []byte)) error {
	r := reader{b: b}
	var buf []float64
	for next := uint64(0); len(r.b) > 0; {
		skip, n := r.uvarint(), r.uvarint()
		if r.err != nil || skip < next || skip > uint64(st.slot) || n > uint64(st.slot)-skip {
			return errRecord
		}
		next = skip + n
		rows, used, err := rra.DecodeRows(buf[:0], r.b, int(n), st.pdps)
		if err != nil {
			return err
		}
		buf = rows
		fn(int(skip), int(n), r.b[:used])
		r.b = r.b[used:]
	}
	return nil
}
