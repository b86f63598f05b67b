package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The mark
//
// The end of a log does not show whether more stood behind it: a newest segment that is missing, or
// cut where a block ends, looks like a log that was never longer. So the file mark beside the
// segments says how far the log reaches at least. It is written when a segment is begun, before the
// first record goes into it; when the log is closed; and when Open has found the end of a log that
// was not closed. Appending does not touch it.
//
// It has two slots in sectors of their own, which are written in turn: whatever a crash leaves of
// one, the other is whole, and says what was true before.

const (
	markName    = "mark"
	markMagic   = "rondomrk"
	markVersion = 1
	markSlot    = 512 // bytes from one slot to the next
	markBytes   = 80  // of a slot that are used
	markSize    = 48  // of a Mark in it
)

// A Mark is how far a log reaches at least. Whoever keeps one, from [Log.Mark], and gives it to
// Open as [Options].Holds is told when the log that is there is another one or does not reach that
// far any more.
type Mark struct {
	Log     ID
	Segment uint64 // the newest; 0 if there was none
	Salt    uint64 // of that segment
	End     int64  // offset in that segment up to which all is durable
	Last    Pos    // all up to this position is durable
}

// AppendBinary appends the mark to dst as 48 bytes. The error is nil.
func (m Mark) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, m.Log[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, m.Segment)
	dst = binary.LittleEndian.AppendUint64(dst, m.Salt)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(m.End))
	return binary.LittleEndian.AppendUint64(dst, uint64(m.Last)), nil
}

// UnmarshalBinary reads what AppendBinary wrote.
func (m *Mark) UnmarshalBinary(b []byte) error {
	if len(b) != markSize {
		return fmt.Errorf("mark of a log has %d bytes, not %d", len(b), markSize)
	}
	copy(m.Log[:], b)
	m.Segment = binary.LittleEndian.Uint64(b[16:])
	m.Salt = binary.LittleEndian.Uint64(b[24:])
	m.End = int64(binary.LittleEndian.Uint64(b[32:]))
	m.Last = Pos(binary.LittleEndian.Uint64(b[40:]))
	return nil
}

// slots is the file mark as it is known.
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
	dst, _ = m.AppendBinary(dst)  // never fails
	dst = append(dst, 0, 0, 0, 0) // reserved
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[at:]))
}

func parseSlot(b []byte) (m Mark, seq uint64, err error) {
	switch {
	case len(b) < markBytes:
		return m, 0, fmt.Errorf("%d bytes of %d", len(b), markBytes)
	case string(b[:8]) != markMagic:
		return m, 0, fmt.Errorf("starts with %q, not %q", b[:8], markMagic)
	case b[8] != markVersion:
		return m, 0, fmt.Errorf("has version %d, this program reads %d", b[8], markVersion)
	case checksum(b[:markBytes-4]) != binary.LittleEndian.Uint32(b[markBytes-4:]):
		return m, 0, errors.New("does not match its checksum")
	}
	if err := m.UnmarshalBinary(b[24 : 24+markSize]); err != nil {
		return m, 0, err
	}
	return m, binary.LittleEndian.Uint64(b[16:]), nil
}
