package peer

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/engine/core"
)

// Batches for several partitions are packed one behind the other, each as its number, its
// partition, its flags, its length in bytes, and the batch as appendBatch packs it.

const partNames = 1 // name the series of refused samples

// A packedPart is one of them.
type packedPart struct {
	number    uint64
	partition uint32
	names     bool
	batch     []byte
}

// appendPart appends the batch of a frame to dst.
func appendPart(dst []byte, f *frame) []byte {
	flags := byte(0)
	if f.names {
		flags |= partNames
	}
	dst = binary.AppendUvarint(dst, f.number)
	dst = binary.AppendUvarint(dst, uint64(f.c.partition))
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(len(f.packed)))
	return append(dst, f.packed...)
}

// cutPart returns the first batch of those that are packed, and the others. The batch is a part of
// packed.
func cutPart(packed []byte) (p packedPart, rest []byte, err error) {
	r := batchReader{rest: packed}
	p.number = r.uvarint()
	partition := r.uvarint()
	p.names = r.byte()&partNames != 0
	p.batch = r.bytes(r.uvarint())
	if r.bad || partition > math.MaxUint32 {
		return p, nil, fmt.Errorf("packed batches of %d bytes do not parse: %w", len(packed), core.ErrInvalid)
	}
	p.partition = uint32(partition)
	return p, r.rest, nil
}
