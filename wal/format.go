package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/golang/snappy"
)

// The constants in this file are part of the format, which docs/format-wal.md describes. All
// numbers are little-endian.
const (
	blockMagic  = "rblk"
	blockHeader = 48 // bytes

	// blockBytes is the raw size at which a block is closed, so that a reader needs little memory
	// and a torn commit keeps its first blocks. A longer record has a block of its own.
	blockBytes = 256 << 10

	// RecordOverhead is the most bytes that AppendRecord adds to a record.
	RecordOverhead = binary.MaxVarintLen32 + 4
	maxRawBytes    = MaxRecord + RecordOverhead

	// snappyRatio is more than the best that snappy can do: a copy of 64 bytes takes 3.
	snappyRatio = 22
)

// Codec says how the payload of a block is stored.
type Codec uint8

const (
	// Raw payloads are stored as they are.
	Raw Codec = iota
	// Snappy payloads are one block of snappy's block format.
	Snappy
)

// String names the codec.
func (c Codec) String() string {
	switch c {
	case Raw:
		return "raw"
	case Snappy:
		return "snappy"
	}
	return fmt.Sprintf("codec(%d)", uint8(c))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Reasons for damage, wrapped in a CorruptError or met at the end of the newest segment.
var (
	errEnd             = errors.New("end of blocks") // nothing but zeros, or nothing at all
	errShort           = errors.New("block is cut short")
	errBlockMagic      = errors.New("no block starts here")
	errHeaderChecksum  = errors.New("block header does not match its checksum")
	errPayloadChecksum = errors.New("block payload does not match its checksum")
	errRecordChecksum  = errors.New("record does not match its checksum")
	errRecordLength    = errors.New("record lengths do not add up to the block")
)

// A BlockHead stands before each block.
type BlockHead struct {
	Stored  int   // bytes of payload in the file
	Raw     int   // bytes of payload unpacked
	Count   int   // records
	First   Pos   // position of the first record
	Durable Pos   // was durable when the block was written: damage up to there is no torn tail
	Codec   Codec // of the payload
	sum     uint32
}

// Last is the position of the block's last record.
func (h BlockHead) Last() Pos { return h.First + Pos(h.Count) - 1 }

// sealBlock ties a block to one segment: it writes one half of the segment's salt into the block's
// header, and starts the header's checksum with the other half. Blocks of other segments do not
// parse in this one, and nobody can forge a block without having read the segment's header.
func sealBlock(head []byte, salt uint64) {
	binary.LittleEndian.PutUint32(head[44:], uint32(salt>>32))
	binary.LittleEndian.PutUint32(head[4:], crc32.Update(uint32(salt), castagnoli, head[8:blockHeader]))
}

// put writes the header, without what sealBlock adds.
func (h BlockHead) put(b []byte) {
	copy(b, blockMagic)
	binary.LittleEndian.PutUint32(b[8:], h.sum)
	binary.LittleEndian.PutUint32(b[12:], uint32(h.Stored))
	binary.LittleEndian.PutUint32(b[16:], uint32(h.Raw))
	binary.LittleEndian.PutUint32(b[20:], uint32(h.Count))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.First))
	binary.LittleEndian.PutUint64(b[32:], uint64(h.Durable))
	b[40], b[41], b[42], b[43] = byte(h.Codec), 0, 0, 0
}

func parseBlockHead(b []byte, salt uint64) (BlockHead, error) {
	var h BlockHead
	if len(b) < blockHeader {
		if allZero(b) {
			return h, errEnd
		}
		return h, errShort
	}
	b = b[:blockHeader]
	if string(b[:4]) != blockMagic {
		if allZero(b) {
			return h, errEnd
		}
		return h, errBlockMagic
	}
	if crc32.Update(uint32(salt), castagnoli, b[8:]) != binary.LittleEndian.Uint32(b[4:]) || binary.LittleEndian.Uint32(b[44:]) != uint32(salt>>32) {
		return h, errHeaderChecksum
	}
	h.sum = binary.LittleEndian.Uint32(b[8:])
	stored := binary.LittleEndian.Uint32(b[12:])
	raw := binary.LittleEndian.Uint32(b[16:])
	count := binary.LittleEndian.Uint32(b[20:])
	h.First = Pos(binary.LittleEndian.Uint64(b[24:]))
	h.Durable = Pos(binary.LittleEndian.Uint64(b[32:]))
	h.Codec = Codec(b[40])
	// A record takes five bytes at least, so these bounds also bound count, and with it
	// First+Count.
	switch {
	case h.Codec > Snappy:
		return h, fmt.Errorf("block has unknown %v: %w", h.Codec, ErrNewer) // the checksum is right
	case raw > maxRawBytes, stored > raw, uint64(raw) > snappyRatio*uint64(stored), h.Codec == Raw && raw != stored:
		return h, fmt.Errorf("block of %d bytes cannot unpack to %d", stored, raw)
	case count == 0 || uint64(count)*5 > uint64(raw):
		return h, fmt.Errorf("block of %d bytes cannot hold %d records", raw, count)
	case h.First == 0 || h.Durable >= h.First || h.First > h.First+Pos(count):
		return h, fmt.Errorf("block has positions %d and up, durable %d", h.First, h.Durable)
	}
	h.Stored, h.Raw, h.Count = int(stored), int(raw), int(count)
	return h, nil
}

// appendBlock writes a block without its seal.
func appendBlock(dst, raw []byte, h BlockHead) []byte {
	at := len(dst)
	most := blockHeader + snappy.MaxEncodedLen(len(raw))
	if cap(dst)-at < most {
		dst = append(make([]byte, 0, 2*cap(dst)+most), dst...)
	}
	room := dst[at : at+most]
	payload := snappy.Encode(room[blockHeader:], raw)
	h.Codec = Snappy
	if len(payload) >= len(raw) {
		h.Codec = Raw
		payload = room[blockHeader : blockHeader+len(raw)]
		copy(payload, raw)
	}
	h.Stored, h.Raw = len(payload), len(raw)
	h.sum = crc32.Checksum(payload, castagnoli)
	h.put(room)
	return dst[:at+blockHeader+len(payload)]
}

// unpack checks a payload and returns the records in it, packed as appendRecord packs them. The
// result is payload itself, or lies in buf.
func (h BlockHead) unpack(payload, buf []byte) ([]byte, error) {
	if crc32.Checksum(payload, castagnoli) != h.sum {
		return nil, errPayloadChecksum
	}
	if h.Codec == Raw {
		return payload, nil
	}
	n, err := snappy.DecodedLen(payload)
	if err != nil {
		return nil, fmt.Errorf("unpack block: %w", err)
	}
	if n != h.Raw {
		return nil, fmt.Errorf("block says it unpacks to %d bytes, its payload %d", h.Raw, n)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	raw, err := snappy.Decode(buf[:n], payload)
	if err != nil {
		return nil, fmt.Errorf("unpack block: %w", err)
	}
	return raw, nil
}

// appendRecord packs one record: length, checksum, bytes.
func appendRecord(dst, rec []byte, sum uint32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(rec)))
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return append(dst, rec...)
}

// recordsOf walks the records packed in raw. It stops after the first error.
func recordsOf(raw []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for len(raw) > 0 {
			n, k := binary.Uvarint(raw)
			if k <= 0 || len(raw)-k < 4 || n > uint64(len(raw)-k-4) {
				yield(nil, errRecordLength)
				return
			}
			end := k + 4 + int(n)
			sum, rec := binary.LittleEndian.Uint32(raw[k:]), raw[k+4:end:end]
			if crc32.Checksum(rec, castagnoli) != sum {
				yield(nil, errRecordChecksum)
				return
			}
			if !yield(rec, nil) {
				return
			}
			raw = raw[end:]
		}
	}
}

func allZero(b []byte) bool {
	for len(b) >= len(zeros) {
		if !bytes.Equal(b[:len(zeros)], zeros[:]) {
			return false
		}
		b = b[len(zeros):]
	}
	return bytes.Equal(b, zeros[:len(b)])
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

var zeros [4096]byte
