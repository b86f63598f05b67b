package wal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
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

// These constants are part of the format, see docs/format-wal.md.
const (
	segmentMagic   = "rondowal"
	segmentVersion = 2
	segmentHeader  = 128 // bytes

	offsetLog  = 40 // of the log's id in the header
	offsetSalt = 32
)

// An ID identifies a log. It is drawn at random when the log is made, and stands in every segment.
type ID [16]byte

// String gives the 32 hexadecimal digits of the id.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID is the inverse of String.
func ParseID(text string) (id ID, err error) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(id) {
		return ID(b), nil
	}
	return id, fmt.Errorf("%.100q is no id of a log, which has %d hexadecimal digits", text, 2*len(id))
}

// segmentHead is the start of a segment. It is durable before the file gets its name.
type segmentHead struct {
	ID       uint64
	First    Pos
	Recycled bool   // the file was another segment before: anything may follow the last block
	Salt     uint64 // drawn at random for this segment: see sealBlock
	Log      ID
}

func (h segmentHead) appendTo(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, segmentMagic...)
	var flags byte
	if h.Recycled {
		flags |= 1
	}
	dst = append(dst, segmentVersion, flags, 0, 0, 0, 0, 0, 0) // reserved
	dst = binary.LittleEndian.AppendUint64(dst, h.ID)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.First))
	dst = binary.LittleEndian.AppendUint64(dst, h.Salt)
	dst = append(dst, h.Log[:]...)
	dst = append(dst, make([]byte, segmentHeader-4-(len(dst)-at))...) // reserved
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

func parseSegmentHead(b []byte) (segmentHead, error) {
	var h segmentHead
	if len(b) < segmentHeader {
		return h, fmt.Errorf("segment header has %d bytes of %d", len(b), segmentHeader)
	}
	b = b[:segmentHeader]
	if string(b[:8]) != segmentMagic {
		return h, fmt.Errorf("segment starts with %q, not %q", b[:8], segmentMagic)
	}
	if err := checkVersion("segment", b, segmentVersion); err != nil {
		return h, err
	}
	if got, want := crc32.Checksum(b[:segmentHeader-4], castagnoli), binary.LittleEndian.Uint32(b[segmentHeader-4:]); got != want {
		return h, fmt.Errorf("segment header has checksum %08x, not %08x", got, want)
	}
	h.Recycled = b[9]&1 != 0
	h.ID = binary.LittleEndian.Uint64(b[16:])
	h.First = Pos(binary.LittleEndian.Uint64(b[24:]))
	h.Salt = binary.LittleEndian.Uint64(b[offsetSalt:])
	copy(h.Log[:], b[offsetLog:])
	if h.First == 0 {
		return h, errors.New("segment starts at position 0")
	}
	return h, nil
}

// checkVersion returns the error of a header or a mark whose version, the byte at 8, is not the one
// that this program reads. It wraps ErrNewer if a newer program wrote b. b ends with its checksum,
// which in other versions may stand elsewhere. So if the checksum is right but for the version,
// the version is a damaged byte, and checkVersion leaves the error to whoever checks the checksum.
func checkVersion(what string, b []byte, known byte) error {
	if b[8] == known {
		return nil
	}
	as, end := bytes.Clone(b), len(b)-4
	as[8] = known
	switch {
	case checksum(as[:end]) == binary.LittleEndian.Uint32(b[end:]):
		return nil
	case b[8] > known:
		return fmt.Errorf("%s has version %d, this program reads %d: %w", what, b[8], known, ErrNewer)
	}
	return fmt.Errorf("%s has version %d, this program reads %d", what, b[8], known)
}

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
