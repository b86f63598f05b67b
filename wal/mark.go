package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
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

// readMark reads the file mark. The error wraps fs.ErrNotExist if there is none.
func (l *Log) readMark() (slots, error) {
	var s slots
	f, err := l.fs.Open(filepath.Join(l.dir, markName), false)
	if err != nil {
		return s, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	b := make([]byte, 2*markSlot)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return s, fmt.Errorf("read %s: %w", markName, err)
	}
	b = b[:n]
	var errs [2]error
	found := false
	for i := range 2 {
		slot := b[min(i*markSlot, n):]
		m, seq, err := parseSlot(slot)
		if errs[i] = err; err == nil && (!found || seq > s.seq) {
			found = true
			s = slots{mark: m, seq: seq, slot: i}
		}
	}
	if !found {
		return s, &CorruptError{Err: fmt.Errorf("%w, and the second slot: %w", errs[0], errs[1])}
	}
	if i := 1 - s.slot; errs[i] != nil && !bytes.Equal(b[min(i*markSlot, n):], zeros[:markSlot]) && !l.o.ReadOnly {
		l.o.Logger.Warn("one of the two slots of the log's file mark is damaged, the other one is used", "slot", i, "error", errs[i])
	}
	return s, nil
}

// makeMark makes the file mark, and with it the log.
func (l *Log) makeMark(m Mark) error {
	temp := filepath.Join(l.dir, markName+newSuffix)
	f, err := l.fs.Create(temp)
	if err != nil {
		return err
	}
	b := make([]byte, 2*markSlot)
	copy(b, appendSlot(nil, m, 1))
	err = writeAll(f, b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("make %s: %w", markName, err)
	}
	if err := l.fs.Rename(temp, filepath.Join(l.dir, markName)); err != nil {
		return err
	}
	// The folder may be new, and a crash must not take it away with all that will be
	// acknowledged in it.
	for _, dir := range []string{l.dir, filepath.Dir(filepath.Clean(l.dir))} {
		if err := l.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	l.slots = slots{mark: m, seq: 1}
	return nil
}

// markNow is what the mark could say: the newest segment, and how far it is durable. io is held.
func (l *Log) markNow() Mark {
	m := Mark{Log: l.slots.mark.Log, Last: l.synced}
	if n := len(l.segs); n > 0 {
		s := l.segs[n-1]
		m.Segment, m.Salt, m.End = s.ID, s.Salt, s.synced
	}
	return m
}

// writeMark makes the file mark say m. If that fails the mark may say either. io is held.
func (l *Log) writeMark(m Mark) error {
	if m == l.slots.mark {
		return nil
	}
	f, err := l.fs.Open(filepath.Join(l.dir, markName), true)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", ErrGone, err)
		}
		return err
	}
	l.slots.tried = m.Segment
	slot := 1 - l.slots.slot // the other one must stay whole until this one is durable
	err = writeAll(f, appendSlot(nil, m, l.slots.seq+1), int64(slot*markSlot))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", markName, err)
	}
	l.slots = slots{mark: m, seq: l.slots.seq + 1, slot: slot, tried: m.Segment}
	return nil
}

func writeAll(f File, b []byte, off int64) error {
	n, err := f.WriteAt(b, off)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// Mark tells how far the log reaches at least: all of it is durable. It waits for a commit under
// way.
func (l *Log) Mark() Mark {
	l.io.Lock()
	defer l.io.Unlock()
	return l.markNow()
}

// check says whether the log holds what m says, as far as the segments' headers and the last
// position tell. what says who has the mark.
func (m Mark) check(l *Log, what string) error {
	if m == (Mark{}) {
		return nil
	}
	if l.slots.mark.Log != m.Log {
		return fmt.Errorf("%w: this is log %v, %s belongs to log %v", ErrHole, l.slots.mark.Log, what, m.Log)
	}
	var newest uint64
	for _, s := range l.segs {
		newest = max(newest, s.ID)
		if s.ID == m.Segment && s.Salt != m.Salt {
			return &CorruptError{Segment: s.ID, Offset: offsetSalt, Err: fmt.Errorf("segment has salt %016x, %s says %016x", s.Salt, what, m.Salt)}
		}
	}
	if newest < m.Segment {
		return &CorruptError{Segment: m.Segment, Err: fmt.Errorf("%w: the segment is not there, and %s says that it holds up to position %d at least", ErrHole, what, m.Last)}
	}
	return nil
}

// floor is the offset up to which the segment s must be whole, from what the marks say.
func (l *Log) floor(s *segment) int64 {
	floor := int64(segmentHeader)
	for _, m := range []Mark{l.slots.mark, l.o.Holds} {
		if m.Segment == s.ID {
			floor = max(floor, m.End)
		}
	}
	return floor
}
