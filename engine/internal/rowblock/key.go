package rowblock

import "encoding/binary"

// Key appends the key of a block. Class, stream, slot and sub-block come before the group, so that
// the blocks which one checkpoint writes stand next to each other in the database, and so do those
// which expire together. Part of the format.
func Key(dst []byte, class uint32, stream int, slot int64, sub uint16, group uint32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, class)
	dst = append(dst, byte(stream>>8), byte(stream))
	dst = binary.BigEndian.AppendUint64(dst, uint64(slot)^1<<63)
	dst = binary.BigEndian.AppendUint16(dst, sub)
	return binary.BigEndian.AppendUint32(dst, group)
}

// KeySize is the length of a key.
const KeySize = 4 + 2 + 8 + 2 + 4

// KeyRoom is the capacity of a key's slice that [OpenIn] needs.
const KeyRoom = KeySize + blockFields

// ParseKey is the inverse of [Key]. ok is false if k has another length than a key.
func ParseKey(k []byte) (class uint32, stream int, slot int64, sub uint16, group uint32, ok bool) {
	if len(k) != KeySize {
		return 0, 0, 0, 0, 0, false
	}
	return binary.BigEndian.Uint32(k), int(binary.BigEndian.Uint16(k[4:])),
		int64(binary.BigEndian.Uint64(k[6:]) ^ 1<<63), binary.BigEndian.Uint16(k[14:]), binary.BigEndian.Uint32(k[16:]), true
}
