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

// readMark reads the file mark. The error wraps fs.ErrNotExist if the file does not exist.
func (l *Log) readMark() (slots, error) {
	var s slots
	// A log that may not write its mark learns it now.
	f, err := l.fs.Open(filepath.Join(l.dir, markName), !l.o.ReadOnly)
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
		if errors.Is(err, ErrNewer) { // the other slot may be what an older program wrote before
			return s, &CorruptError{Offset: int64(i * markSlot), Err: err}
		}
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
	// The folder may be new. A crash must not remove it with the records acknowledged in it.
	for _, dir := range []string{l.dir, filepath.Dir(filepath.Clean(l.dir))} {
		if err := l.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	l.slots = slots{mark: m, seq: 1}
	return nil
}

// markNow returns the mark as it should be now: the newest segment, and how far it is durable. The
// caller holds io.
func (l *Log) markNow() Mark {
	m := Mark{Log: l.slots.mark.Log, Last: l.synced}
	if n := len(l.segs); n > 0 {
		s := l.segs[n-1]
		m.Segment, m.End = s.ID, s.synced
	}
	return m
}

// writeMark writes m into the file mark. After an error the file holds m or the mark before. The
// caller holds io.
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

// reaches returns an error if the headers of the segments show that the log does not reach as far
// as its mark m.
func (l *Log) reaches(m Mark) error {
	for _, s := range l.segs {
		if s.ID >= m.Segment {
			return nil
		}
	}
	if m.Segment == 0 {
		return nil
	}
	return &CorruptError{Segment: m.Segment, Err: fmt.Errorf("%w: the segment is not there, and the file %s says that it holds up to position %d at least", ErrHole, markName, m.Last)}
}

// floor returns the offset up to which the segment s must be whole according to the mark.
func (l *Log) floor(s *segment) int64 {
	if m := l.slots.mark; m.Segment == s.ID {
		return max(segmentHeader, m.End)
	}
	return segmentHeader
}
