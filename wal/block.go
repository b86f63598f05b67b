package wal

import "fmt"

// AppendRecord packs rec, as the payload of a block holds it: length, checksum, bytes. A log that
// keeps blocks elsewhere than in segments collects records with it.
func AppendRecord(dst, rec []byte) []byte { return appendRecord(dst, rec, checksum(rec)) }

// AppendBlock appends a block to dst: count records from position first on, which AppendRecord
// packed into raw. It is laid out as in a segment whose salt is salt, and compressed if that makes
// it smaller.
func AppendBlock(dst, raw []byte, first Pos, count int, salt uint64) []byte {
	at := len(dst)
	dst = appendBlock(dst, raw, BlockHead{Count: count, First: first, Durable: first - 1})
	sealBlock(dst[at:], salt)
	return dst
}

// ParseBlock checks a block that AppendBlock made, and unpacks it. The block lies in b or in buf,
// and Block.Buffer returns the memory to use as buf the next time. Damage is a *CorruptError that
// names place.
func ParseBlock(b []byte, salt uint64, place string, buf []byte) (Block, error) {
	h, err := parseBlockHead(b, salt)
	if err == nil && len(b) != blockHeader+h.Stored {
		err = fmt.Errorf("block of %d bytes stands in %d", blockHeader+h.Stored, len(b))
	}
	var raw []byte
	if err == nil {
		raw, err = h.unpack(b[blockHeader:], buf)
	}
	if err != nil {
		return Block{}, &CorruptError{Place: place, Err: err}
	}
	return Block{BlockHead: h, records: raw, place: place}, nil
}

// Buffer returns the memory that a block of ParseBlock was unpacked to, or nil if it was stored
// raw.
func (b Block) Buffer() []byte {
	if b.Codec == Raw {
		return nil
	}
	return b.records
}
