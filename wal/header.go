package wal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
)

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
