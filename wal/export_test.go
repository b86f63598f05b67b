package wal

import "encoding/binary"

// For the tests, which build blocks no log would write.
var (
	SealBlock = sealBlock
	Checksum  = checksum
)

const (
	SegmentHeader = segmentHeader
	BlockHeader   = blockHeader
	MarkSlot      = markSlot
	MarkBytes     = markBytes
)

// SaltOf reads the salt in a segment's header.
func SaltOf(segment []byte) uint64 { return binary.LittleEndian.Uint64(segment[offsetSalt:]) }

// MarkFile is a file mark that says m.
func MarkFile(m Mark) []byte {
	b := make([]byte, 2*markSlot)
	copy(b, appendSlot(nil, m, 1))
	return b
}

// WithRandom returns o with another source of ids and salts.
func (o Options) WithRandom(fill func([]byte)) Options {
	o.random = fill
	return o
}
