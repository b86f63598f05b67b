package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/rondo-db/rondo/wal"
)

// The constants in this file are part of the format, which docs/design/cluster.md describes. All
// numbers are little-endian.
const (
	messageMagic   = "rmsg"
	messageVersion = 1
	messageHeader  = 64 // bytes
)

// ClaimBytes is the size of a claim, the message without records by which a process becomes the
// writer. All other messages are larger.
const ClaimBytes = messageHeader

// A kind says what a message is for.
type kind uint8

const (
	// A claim makes its writer the only one. It has no payload.
	claim kind = iota
	// A part is a piece of a block of records, or all of it.
	part
)

// A header stands before the payload of each message.
type header struct {
	Kind   kind
	Part   uint32  // counted from 0
	Parts  uint32  // of the block; 0 in a claim
	Count  uint32  // records in the block; 0 in a claim
	First  wal.Pos // position of the block's first record; of a claim: of the next record
	Writer uint64  // number of the claim that the message's writer made; the first is 1
	Log    wal.ID
	Nonce  uint64 // drawn at random by the writer
}

// end returns the position behind the last record that is complete with this message.
func (h header) end() wal.Pos {
	if h.Part+1 != h.Parts {
		return h.First
	}
	return h.First + wal.Pos(h.Count)
}

// salt is what ties the blocks to the log.
func (h header) salt() uint64 { return binary.LittleEndian.Uint64(h.Log[:]) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Reasons for damage, wrapped in a *wal.CorruptError.
var (
	errMagic    = errors.New("no message of a log")
	errChecksum = errors.New("message does not match its checksum")
)

func appendMessage(dst []byte, h header, payload []byte) []byte {
	at := len(dst)
	dst = append(dst, messageMagic...)
	dst = append(dst, 0, 0, 0, 0, messageVersion, byte(h.Kind), 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, h.Part)
	dst = binary.LittleEndian.AppendUint32(dst, h.Parts)
	dst = binary.LittleEndian.AppendUint32(dst, h.Count)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.First))
	dst = binary.LittleEndian.AppendUint64(dst, h.Writer)
	dst = append(dst, h.Log[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, h.Nonce)
	dst = append(dst, payload...)
	binary.LittleEndian.PutUint32(dst[at+4:], crc32.Checksum(dst[at+8:], castagnoli))
	return dst
}

// parseMessage checks a message and returns its payload.
func parseMessage(b []byte) (h header, payload []byte, err error) {
	switch {
	case len(b) < messageHeader || string(b[:4]) != messageMagic:
		return h, nil, errMagic
	case crc32.Checksum(b[8:], castagnoli) != binary.LittleEndian.Uint32(b[4:]):
		return h, nil, errChecksum
	case b[8] > messageVersion:
		return h, nil, fmt.Errorf("message has version %d, this program knows %d: %w", b[8], messageVersion, wal.ErrNewer)
	case b[8] != messageVersion:
		return h, nil, fmt.Errorf("message has version %d, this program knows %d", b[8], messageVersion)
	case kind(b[9]) > part: // the checksum is right
		return h, nil, fmt.Errorf("message is of the unknown kind %d: %w", b[9], wal.ErrNewer)
	}
	h.Kind = kind(b[9])
	h.Part = binary.LittleEndian.Uint32(b[12:])
	h.Parts = binary.LittleEndian.Uint32(b[16:])
	h.Count = binary.LittleEndian.Uint32(b[20:])
	h.First = wal.Pos(binary.LittleEndian.Uint64(b[24:]))
	h.Writer = binary.LittleEndian.Uint64(b[32:])
	copy(h.Log[:], b[40:])
	h.Nonce = binary.LittleEndian.Uint64(b[56:])
	payload = b[messageHeader:]
	switch {
	case h.First == 0 || h.First > h.First+wal.Pos(h.Count):
		return h, nil, fmt.Errorf("message has positions %d and up", h.First)
	case h.Kind == claim && h.Part|h.Parts|h.Count == 0 && len(payload) == 0:
	case h.Kind == part && h.Part < h.Parts && h.Count > 0 && len(payload) > 0:
	default:
		return h, nil, fmt.Errorf("message of kind %d has part %d of %d, %d records and %d bytes", h.Kind, h.Part, h.Parts, h.Count, len(payload))
	}
	return h, payload, nil
}
