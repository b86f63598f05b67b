package peer

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// A batch is packed as its flags, its session (8 bytes, little-endian) and number if it has them,
// the number of refused samples to name, the number of samples, and the samples. A sample is a byte
// that says what is as in the sample before, what is not, and its values: a tag each, and eight
// bytes of a float, a zigzag varint of an integer, a length and bytes of a text, or a varint of
// anything else.

const (
	batchSkipPast = 1
	batchStopped  = 2
	batchNumbered = 4

	sampleFollows   = 1 // the sample is in the command of the one before
	sampleSameTime  = 2
	sampleSameCount = 4
	sampleNextRef   = 8 // its reference is one above the sample before's
)

// appendBatch appends b to dst, with its number.
func appendBatch(dst []byte, b *core.Batch, n core.Number) []byte {
	var flags byte
	if b.SkipPast {
		flags |= batchSkipPast
	}
	if b.Stopped {
		flags |= batchStopped
	}
	if n.Session != 0 {
		dst = binary.LittleEndian.AppendUint64(append(dst, flags|batchNumbered), n.Session)
		dst = binary.AppendUvarint(dst, n.N)
	} else {
		dst = append(dst, flags)
	}
	dst = binary.AppendVarint(dst, int64(b.Rejections))
	dst = binary.AppendUvarint(dst, uint64(b.Len()))
	var ref core.Ref
	var at rra.Time
	count := 0
	for s := range b.All() {
		var kind byte
		if s.Follows {
			kind |= sampleFollows
		}
		if s.At == at {
			kind |= sampleSameTime
		}
		if len(s.Values) == count {
			kind |= sampleSameCount
		}
		if s.Ref == ref+1 {
			kind |= sampleNextRef
		}
		dst = append(dst, kind)
		if kind&sampleNextRef == 0 {
			dst = binary.AppendVarint(dst, int64(s.Ref-ref))
		}
		if kind&sampleSameTime == 0 {
			dst = binary.AppendVarint(dst, int64(s.At-at))
		}
		if kind&sampleSameCount == 0 {
			dst = binary.AppendUvarint(dst, uint64(len(s.Values)))
		}
		ref, at, count = s.Ref, s.At, len(s.Values)
		for _, v := range s.Values {
			dst = appendValue(dst, v, s.Texts)
		}
	}
	return dst
}

func appendValue(dst []byte, v rra.Value, texts []string) []byte {
	dst = append(dst, byte(v.Tag))
	switch v.Tag {
	case rra.TagUnknown:
		return dst
	case rra.TagInt:
		return binary.AppendVarint(dst, int64(v.Bits))
	case rra.TagFloat:
		return binary.LittleEndian.AppendUint64(dst, v.Bits)
	case rra.TagText, rra.TagInvalid:
		t := texts[v.Bits]
		return append(binary.AppendUvarint(dst, uint64(len(t))), t...)
	}
	return binary.AppendUvarint(dst, v.Bits)
}

// A batchReader reads packed batches. It keeps its memory.
type batchReader struct {
	record.Reader
	values []rra.Value
	texts  []string
}

// read puts the samples of a packed batch into b, which is empty, and returns its number.
func (r *batchReader) read(packed []byte, b *core.Batch) (n core.Number, err error) {
	r.Reader = record.Reader{Rest: packed}
	flags := r.Byte()
	b.SkipPast, b.Stopped = flags&batchSkipPast != 0, flags&batchStopped != 0
	if flags&batchNumbered != 0 {
		n = core.Number{Session: r.Uint64(), N: r.Uvarint()}
	}
	b.Rejections = int(r.Varint())
	var ref core.Ref
	var at rra.Time
	count := uint64(0)
	for n := r.Uvarint(); n > 0 && r.Err == nil; n-- {
		kind := r.Byte()
		if ref++; kind&sampleNextRef == 0 {
			ref += core.Ref(r.Varint()) - 1
		}
		if kind&sampleSameTime == 0 {
			at += rra.Time(r.Varint())
		}
		if kind&sampleSameCount == 0 {
			count = r.Uvarint()
		}
		if count > uint64(len(r.Rest)) || count > 1<<16-1 { // a value has a byte at least
			r.Fail()
			break
		}
		r.values, r.texts = r.values[:0], r.texts[:0]
		for range count {
			r.value()
		}
		if r.Err != nil {
			break
		}
		if len(r.texts) > 0 {
			b.AddText(ref, at, r.values, r.texts)
		} else {
			b.Add(ref, at, r.values...)
		}
		if kind&sampleFollows != 0 {
			b.Follow()
		}
	}
	if r.Err != nil || len(r.Rest) > 0 {
		return n, fmt.Errorf("a packed batch of %d bytes does not parse: %w", len(packed), core.ErrInvalid)
	}
	return n, nil
}

// value reads one value into r.values.
func (r *batchReader) value() {
	v := rra.Value{Tag: rra.Tag(r.Byte())}
	switch v.Tag {
	case rra.TagUnknown:
	case rra.TagInt:
		v.Bits = uint64(r.Varint())
	case rra.TagFloat:
		v.Bits = r.Uint64()
	case rra.TagText, rra.TagInvalid:
		v.Bits = uint64(len(r.texts))
		r.texts = append(r.texts, r.Text())
	case rra.TagUint, rra.TagDecimal, rra.TagExponent:
		v.Bits = r.Uvarint()
	default:
		r.Fail()
	}
	r.values = append(r.values, v)
}

// Batches for several partitions are packed one behind the other, each as its number, its
// partition, its length in bytes, and the batch as appendBatch packs it.

// A packedPart is one of them.
type packedPart struct {
	number    uint64
	partition uint32
	batch     []byte
}

// appendTo appends p to dst.
func (p *packedPart) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, p.number)
	dst = binary.AppendUvarint(dst, uint64(p.partition))
	dst = binary.AppendUvarint(dst, uint64(len(p.batch)))
	return append(dst, p.batch...)
}

// cutPart returns the first batch of those that are packed, and the others. The batch is a part of
// packed.
func cutPart(packed []byte) (p packedPart, rest []byte, err error) {
	r := record.Reader{Rest: packed}
	p.number = r.Uvarint()
	partition := r.Uvarint()
	p.batch = r.Bytes(r.Uvarint())
	if r.Err != nil || partition > math.MaxUint32 {
		return p, nil, fmt.Errorf("packed batches of %d bytes do not parse: %w", len(packed), core.ErrInvalid)
	}
	p.partition = uint32(partition)
	return p, r.Rest, nil
}
