package peer

import (
	"encoding/binary"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// A batch is packed as its flags, its session (8 bytes, little-endian) and number if it has them,
// the number of refused samples to name, the number of samples, and the samples. A sample is a byte
// that says what is as in the sample before, what is not, and its values, each coded against the
// one before as in the log.

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
	var prev uint64
	var tag uint8
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
			dst = record.AppendValue(dst, v, s.Texts, &prev, &tag)
		}
	}
	return dst
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
	var prev uint64
	var tag uint8
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
			v := r.Value(&r.texts, &prev, &tag)
			if v.Tag == rra.TagUnknown {
				v = rra.Unknown
			}
			r.values = append(r.values, v)
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

// A packedPart is a packed batch on its way. A message of a stream has some, one behind the other.
type packedPart struct {
	number    uint64
	partition uint32
	batch     []byte // of what was read, a part of the message
}

func codePart(k *coder, x *packedPart) {
	number(k, &x.number)
	number(k, &x.partition)
	k.bytes(&x.batch)
}
