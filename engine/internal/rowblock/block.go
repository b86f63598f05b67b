package rowblock

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/rondo-db/rondo/internal/record"
)

// A row block holds rows of one slot of one stream for the series of a group:
//
//	version (1), first column (2), columns (2), width of an end (1), checksum of the key and of
//	these six bytes (4);
//	for each column the end of its bytes (width: 2 to 4) and their checksum (4);
//	the bytes of the columns
//
// A column is strips. Part of the format.
//
// Each column has a checksum of its own, which continues the checksum of key and head. So a fetch
// of one series checks the bytes of that series and no others, and damage of one column leaves the
// others readable.
const (
	blockVersion = 3
	blockFields  = 6 // bytes of the head before its checksum
	blockHead    = blockFields + record.SumSize
)

// Bucket is the name of the bucket that blocks stand in. Checksums begin with it.
var Bucket = []byte("rows")

// Append appends the block that stands under key. The strips must all be of one slot, in the order
// of [CompareStrips].
func Append(dst, key []byte, strips []Strip) []byte {
	first := strips[0].Column
	columns := strips[len(strips)-1].Column + 1 - first
	size := 0
	for i := range strips {
		size += strips[i].Size()
	}
	width := 2
	for size>>(8*width) != 0 {
		width++
	}
	start := len(dst)
	dst = append(dst, blockVersion, byte(first), byte(first>>8), byte(columns), byte(columns>>8), byte(width))
	head := headSum(key, dst[start:])
	dst = binary.LittleEndian.AppendUint32(dst, head)
	table := len(dst)
	dst = append(dst, make([]byte, (width+record.SumSize)*columns)...)
	data := len(dst)
	for i, column := 0, first; column < first+columns; column++ {
		from := len(dst)
		for ; i < len(strips) && strips[i].Column == column; i++ {
			dst = strips[i].Append(dst)
		}
		at := table + (width+record.SumSize)*(column-first)
		for b, end := 0, len(dst)-data; b < width; b++ {
			dst[at+b] = byte(end >> (8 * b))
		}
		binary.LittleEndian.PutUint32(dst[at+width:], columnSum(head, column, dst[from:]))
	}
	return dst
}

// headSum returns the checksum of the head of the block that stands under key: [record.Sum] of the
// fields.
func headSum(key, fields []byte) uint32 {
	return crc32.Update(crc32.Update(rowsSum, record.Castagnoli, key), record.Castagnoli, fields)
}

// rowsSum is the checksum of what every head's checksum begins with.
var rowsSum = record.Sum(Bucket, nil, nil)

// columnSum returns the checksum of a column of a block whose head has the checksum head.
func columnSum(head uint32, column int, b []byte) uint32 {
	return crc32.Update(head^uint32(column), record.Castagnoli, b)
}

// A Block is a stored block whose head is undamaged.
type Block struct {
	data    []byte
	head    uint32 // checksum of the head
	first   int    // column that has rows
	Columns int    // series times data sources, up to the last that has rows
	width   int    // bytes of an end
	mask    uint32 // bits of an end
}

// Open checks the head of the block that stands under key. Columns are checked when they are read.
// It returns [record.ErrSum], [record.ErrShort], [record.ErrParse] or [record.ErrVersion].
func Open(key, data []byte) (Block, error) {
	if len(data) < blockHead {
		return Block{}, record.ErrShort
	}
	return checkedBlock(data, headSum(key, data[:blockFields]))
}

// OpenIn is [Open] for a key whose slice has the capacity [KeyRoom], which OpenIn uses: one
// checksum over adjoining bytes costs less than two.
func OpenIn(key, data []byte) (Block, error) {
	if len(data) < blockHead {
		return Block{}, record.ErrShort
	}
	return checkedBlock(data, crc32.Update(rowsSum, record.Castagnoli, append(key, data[:blockFields]...)))
}

// checkedBlock returns a block whose head must have the checksum sum.
func checkedBlock(data []byte, sum uint32) (Block, error) {
	first, columns := int(binary.LittleEndian.Uint16(data[1:])), int(binary.LittleEndian.Uint16(data[3:]))
	b := Block{data: data, head: binary.LittleEndian.Uint32(data[blockFields:]), first: first, Columns: first + columns, width: int(data[5])}
	b.mask = 1<<(8*b.width) - 1
	if sum != b.head {
		return Block{}, record.ErrSum
	}
	if data[0] != blockVersion {
		return Block{}, fmt.Errorf("row block of version %d: %w", data[0], record.OtherVersion(uint64(data[0]), blockVersion))
	}
	if b.width < 2 || b.width > 4 {
		return Block{}, record.ErrParse
	}
	if columns == 0 || len(data) < blockHead+columns*(b.width+record.SumSize) {
		return Block{}, record.ErrShort
	}
	return b, nil
}

// Column returns the bytes of one column, empty if the block has no rows of it. It returns
// [record.ErrSum] if they do not match their checksum.
func (b *Block) Column(i int) ([]byte, error) {
	if i < b.first || i >= b.Columns {
		return nil, nil
	}
	stride := b.width + record.SumSize
	data := blockHead + (b.Columns-b.first)*stride
	at := blockHead + (i-b.first)*stride
	from := 0
	if i > b.first {
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

// Sound returns what is damaged of the block that stands under key: the error, and the column; -1:
// the head.
func Sound(key, data []byte) (column int, err error) {
	b, err := Open(key, data)
	column = -1
	for err == nil && column+1 < b.Columns {
		column++
		_, err = b.Column(column)
	}
	return column, err
}

// end reads the end of a column's bytes from the table.
func (b *Block) end(at int) int { return int(binary.LittleEndian.Uint32(b.data[at:]) & b.mask) }

// Len returns how many bytes the stored value has.
func (b *Block) Len() int { return len(b.data) }

// Size returns how many bytes the block says that it has. A stored value that is longer is damaged.
func (b *Block) Size() int {
	columns, stride := b.Columns-b.first, b.width+record.SumSize
	return blockHead + columns*stride + b.end(blockHead+(columns-1)*stride)
}
