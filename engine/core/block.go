package core

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra/rows"
)

// A row block holds rows of one slot of one stream for the series of a group:
//
//	version (1), columns (2), bytes of an end (1), checksum of the key and of these (4);
//	for each column the end of its bytes (2 to 4) and their checksum (4);
//	the bytes of the columns
//
// A column is segments: rows to skip, rows, coded rows. Part of the format.
//
// Each column has a checksum of its own, which goes on from that of key and head: whoever reads one
// series checks what it reads and nothing else, and damage of one column leaves the others readable.
const (
	blockVersion = 2
	blockFields  = 4 // of the head, before its checksum
	blockHead    = blockFields + record.SumSize
)

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

// appendBlock codes segments, all of one slot and sorted, as the block that stands under key.
func appendBlock(dst, key []byte, segs []segment) []byte {
	columns := segs[len(segs)-1].column + 1
	size := 0
	for i := range segs {
		size += segs[i].size()
	}
	width := 2
	for size>>(8*width) != 0 {
		width++
	}
	start := len(dst)
	dst = append(dst, blockVersion, byte(columns), byte(columns>>8), byte(width))
	head := headSum(key, dst[start:])
	dst = binary.LittleEndian.AppendUint32(dst, head)
	table := len(dst)
	dst = append(dst, make([]byte, (width+record.SumSize)*columns)...)
	data := len(dst)
	for i, column := 0, 0; column < columns; column++ {
		from := len(dst)
		for ; i < len(segs) && segs[i].column == column; i++ {
			dst = segs[i].append(dst)
		}
		at := table + (width+record.SumSize)*column
		for b, end := 0, len(dst)-data; b < width; b++ {
			dst[at+b] = byte(end >> (8 * b))
		}
		binary.LittleEndian.PutUint32(dst[at+width:], columnSum(head, column, dst[from:]))
	}
	return dst
}

// headSum is the checksum of the head of the block that stands under key: valueSum of the bucket rows.
func headSum(key, fields []byte) uint32 {
	return crc32.Update(crc32.Update(rowsSum, record.Castagnoli, key), record.Castagnoli, fields)
}

var rowsSum = record.Sum(bucketRows, nil, nil)

// columnSum is the checksum of a column of a block whose head has the checksum head.
func columnSum(head uint32, column int, b []byte) uint32 {
	return crc32.Update(head^uint32(column), record.Castagnoli, b)
}

// size is how many bytes append takes.
func (sg *segment) size() int {
	return record.UvarintSize(sg.skip) + record.UvarintSize(sg.rows) + len(sg.data)
}

func (sg *segment) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(sg.skip))
	dst = binary.AppendUvarint(dst, uint64(sg.rows))
	return append(dst, sg.data...)
}

// A block is a stored row block whose head has been checked.
type block struct {
	data    []byte
	head    uint32 // its checksum
	columns int
	width   int    // bytes of an end
	mask    uint32 // of these
}

// openBlock checks the head of the block that stands under key. Columns are checked when they are read.
func openBlock(key, data []byte) (block, error) {
	if len(data) < blockHead {
		return block{}, record.ErrShort
	}
	return checkedBlock(data, headSum(key, data[:blockFields]))
}

// openBlockIn is openBlock for a key with room for blockFields more bytes behind it, which it uses:
// one checksum is cheaper than two.
func openBlockIn(key, data []byte) (block, error) {
	if len(data) < blockHead {
		return block{}, record.ErrShort
	}
	return checkedBlock(data, crc32.Update(rowsSum, record.Castagnoli, append(key, data[:blockFields]...)))
}

// checkedBlock returns a block whose head must have the checksum sum.
func checkedBlock(data []byte, sum uint32) (block, error) {
	b := block{data: data, head: binary.LittleEndian.Uint32(data[blockFields:]), columns: int(data[1]) | int(data[2])<<8, width: int(data[3])}
	b.mask = 1<<(8*b.width) - 1
	if sum != b.head {
		return block{}, record.ErrSum
	}
	if data[0] != blockVersion || b.width < 2 || b.width > 4 {
		return block{}, fmt.Errorf("row block of version %d: %w", data[0], ErrVersion)
	}
	if b.columns == 0 || len(data) < blockHead+b.columns*(b.width+record.SumSize) {
		return block{}, record.ErrShort
	}
	return b, nil
}

// column returns the bytes of one column, empty if it has none, once they match their checksum.
func (b *block) column(i int) ([]byte, error) {
	if i >= b.columns {
		return nil, nil
	}
	stride := b.width + record.SumSize
	data := blockHead + b.columns*stride
	at := blockHead + i*stride
	from := 0
	if i > 0 {
		from = b.end(at - stride)
	}
	to := b.end(at)
	if from < 0 || from > to || to > len(b.data)-data {
		return nil, record.ErrSum
	}
	col := b.data[data+from : data+to]
	if columnSum(b.head, i, col) != binary.LittleEndian.Uint32(b.data[at+b.width:]) {
		return nil, record.ErrSum
	}
	return col, nil
}

// end reads the end of a column's bytes from the table.
func (b *block) end(at int) int { return int(binary.LittleEndian.Uint32(b.data[at:]) & b.mask) }

// size is how many bytes the block has, if its table is whole; what follows them is damage.
func (b *block) size() int {
	stride := b.width + record.SumSize
	return blockHead + b.columns*stride + b.end(blockHead+(b.columns-1)*stride)
}

// A span is rows wanted of a column: rows[0] stands at index from.
type span struct {
	from int64
	rows []float64
	step int // distance of two rows in rows: the number of sources
}

// put stores rows that begin at index k.
func (p *span) put(k int64, rows []float64) {
	to := p.to()
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

// to is the index behind the last row wanted; that row may lack the sources that stand after the column.
func (p *span) to() int64 { return p.from + int64((len(p.rows)+p.step-1)/p.step) }

// fill stores n rows of the value v that begin at index k.
func (p *span) fill(k, n int64, v float64) {
	for i, end := max(k, p.from), min(k+n, p.to()); i < end; i++ {
		p.rows[int(i-p.from)*p.step] = v
	}
}

// read stores what p wants of the segment of n rows that data begins with; the first row has index k. It returns how many
// bytes the segment takes. Rows of one value are not spelled out, and of a long segment those before p are passed over.
func (p *span) read(k int64, n int, data []byte, pdps int64, buf []float64) (_ []float64, used int, err error) {
	if x, used, ok := rows.RunOf(data, pdps); ok && n > 0 {
		p.fill(k, int64(n), x)
		return buf, used, nil
	}
	if at := k - p.from; p.step == 1 && at >= 0 && at+int64(n) <= int64(len(p.rows)) {
		// All of them are wanted, and stand side by side.
		_, used, err := rows.Decode(p.rows[at:at], data, n, pdps)
		if err != nil {
			return buf, 0, fmt.Errorf("%w: %w", record.ErrParse, err)
		}
		return buf, used, nil
	}
	from := int64(0)
	if n > maxSlotRows {
		from = min(max(p.from-k, 0), int64(n))
		if k >= p.to() {
			from = int64(n)
		}
	}
	vals, used, err := rows.DecodeRange(buf[:0], data, n, pdps, int(from), n)
	if err != nil {
		return buf, 0, fmt.Errorf("%w: %w", record.ErrParse, err)
	}
	p.put(k+from, vals)
	return vals, used, nil
}

// readColumn decodes the segments of a column of a slot into p.
func readColumn(b []byte, st *stream, slot int64, p *span, buf []float64) ([]float64, error) {
	r := record.Reader{Rest: b}
	for next := uint64(0); len(r.Rest) > 0; {
		skip, n := r.Uvarint(), r.Uvarint()
		if r.Err != nil || skip < next || skip > uint64(st.slot) || n > uint64(st.slot)-skip {
			return buf, record.ErrParse
		}
		next = skip + n
		var used int
		var err error
		if buf, used, err = p.read(slot*st.slot+int64(skip), int(n), r.Rest, st.pdps, buf); err != nil {
			return buf, err
		}
		r.Rest = r.Rest[used:]
	}
	return buf, nil
}

// splitColumn calls fn with each segment of a column.
func splitColumn(b []byte, st *stream, fn func(skip, rows int, data []byte)) error {
	r := record.Reader{Rest: b}
	var buf []float64
	for next := uint64(0); len(r.Rest) > 0; {
		skip, n := r.Uvarint(), r.Uvarint()
		if r.Err != nil || skip < next || skip > uint64(st.slot) || n > uint64(st.slot)-skip {
			return record.ErrParse
		}
		next = skip + n
		_, used, run := rows.RunOf(r.Rest, st.pdps)
		if !run || n == 0 {
			var err error
			if buf, used, err = rows.Decode(buf[:0], r.Rest, int(n), st.pdps); err != nil {
				return err
			}
		}
		fn(int(skip), int(n), r.Rest[:used])
		r.Rest = r.Rest[used:]
	}
	return nil
}
