package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The mark
//
// A log whose newest segment is missing, or cut where a block ends, looks like a log that was never
// longer. So the file mark beside the segments says how far the log reaches at least. The log
// writes the mark at three times: when it begins a segment, before the first record goes into it;
// when it is closed; and when Open has found the end of a log that was not closed. Appending does
// not write the mark.
//
// The mark has two slots in sectors of their own, which are written in turn. Whatever a crash
// leaves of one slot, the other is whole and holds the mark before.

const (
	markName    = "mark"
	markMagic   = "rondomrk"
	markVersion = 2
	markSlot    = 512 // bytes from one slot to the next
	markBytes   = 72  // of a slot that are used
)

// A Mark is the content of the file mark: which log it is, and how far the log reaches at least.
type Mark struct {
	Log     ID
	Segment uint64 // the newest; 0 if there was none
	End     int64  // offset in that segment up to which all is durable
	Last    Pos    // all up to this position is durable
}

// slots is the known content of the file mark.
type slots struct {
	mark  Mark   // durable
	seq   uint64 // of mark
	slot  int    // where mark stands
	tried uint64 // segment of a mark that may be there too, because writing it failed
}

func appendSlot(dst []byte, m Mark, seq uint64) []byte {
	at := len(dst)
	dst = append(dst, markMagic...)
	dst = append(dst, markVersion, 0, 0, 0, 0, 0, 0, 0) // reserved
	dst = binary.LittleEndian.AppendUint64(dst, seq)
	dst = append(dst, m.Log[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, m.Segment)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(m.End))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(m.Last))
	dst = append(dst, 0, 0, 0, 0) // reserved
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[at:]))
}

func parseSlot(b []byte) (m Mark, seq uint64, err error) {
	if len(b) < markBytes {
		return m, 0, fmt.Errorf("%d bytes of %d", len(b), markBytes)
	}
	b = b[:markBytes]
	if string(b[:8]) != markMagic {
		return m, 0, fmt.Errorf("starts with %q, not %q", b[:8], markMagic)
	}
	if err := checkVersion("mark", b, markVersion); err != nil {
		return m, 0, err
	}
	if checksum(b[:markBytes-4]) != binary.LittleEndian.Uint32(b[markBytes-4:]) {
		return m, 0, errors.New("does not match its checksum")
	}
	copy(m.Log[:], b[24:])
	m.Segment = binary.LittleEndian.Uint64(b[40:])
	m.End = int64(binary.LittleEndian.Uint64(b[48:]))
	m.Last = Pos(binary.LittleEndian.Uint64(b[56:]))
	return m, binary.LittleEndian.Uint64(b[16:]), nil
}
