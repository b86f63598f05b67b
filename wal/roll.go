package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// ready makes sure that the active segment has room, its name, and a mark. The caller holds io.
func (l *Log) ready() error {
	if s := l.active; s == nil || s.end >= l.o.SegmentBytes {
		if err := l.roll(); err != nil {
			return err
		}
	}
	if err := l.marked(); err != nil {
		return err
	}
	return l.present()
}

// marked makes sure that the file mark names the active segment, so that a segment with records
// cannot vanish without a trace. The caller holds io.
func (l *Log) marked() error {
	if s := l.active; s == nil || l.slots.mark.Segment == s.ID {
		return nil
	}
	if err := l.writeMark(l.markNow()); err != nil {
		return err
	}
	_ = l.bury() // drop and the next begin try again
	return nil
}

// lookEvery is how often the log checks that its files still have their names. Records in a file
// without a name are lost when the process ends.
const lookEvery = time.Second

// present returns ErrGone if the active segment or the mark has lost its name. The caller holds io.
func (l *Log) present() error {
	s := l.active
	now := time.Now()
	if s == nil || now.Sub(l.looked) < lookEvery {
		return nil
	}
	name := segmentName(l.dir, s.ID, segmentSuffix)
	named, err := l.fs.Named(name, s.file)
	if err != nil {
		return err
	}
	if !named {
		return fmt.Errorf("%w: %s was removed, renamed or replaced", ErrGone, name)
	}
	l.looked = now
	return nil
}

// roll ends the active segment, if there is one, and begins the next. The caller holds io.
func (l *Log) roll() error {
	// The next segment's header says that all before it is durable.
	if err := l.syncActive(); err != nil {
		return err
	}
	if s := l.active; s != nil {
		_ = s.file.Close() // it was synced
		s.file, l.active = nil, nil
	}
	return l.begin()
}

// begin makes the next segment. If records of the last one could not be synced, begin copies them
// to the new one. The caller holds io.
func (l *Log) begin() (err error) {
	_ = l.bury() // drop tries again
	first := l.written + 1
	if l.lost != nil {
		first = l.lost.first
	}
	head := segmentHead{ID: l.nextID, First: first, Salt: l.newSalt(), Log: l.slots.mark.Log}
	l.nextID++
	temp, f, err := l.fileFor(&head)
	if err != nil {
		return fmt.Errorf("begin segment %d: %w", head.ID, err)
	}
	s := &segment{segmentHead: head, file: f, end: segmentHeader, synced: segmentHeader}
	defer func() {
		if err != nil {
			_ = f.Close()         // nothing in it counts
			_ = l.fs.Remove(temp) // it costs space only, and Open tries again
			l.dead = append(l.dead, s)
			_ = l.bury() // drop and the next begin try again
			err = fmt.Errorf("begin segment %d: %w", head.ID, err)
		}
	}()
	if s.size, err = f.Size(); err != nil {
		return err
	}
	if err := s.write(head.appendTo(nil), 0, l.o.SegmentBytes, !l.o.DisablePreallocate); err != nil {
		return err
	}
	if l.lost != nil {
		if err := l.lost.copyTo(s, l.o); err != nil {
			return err
		}
	}
	// The header before the name: a file with a segment's name has a whole header.
	if err := l.sync(s.ID, s.file); err != nil {
		return err
	}
	if err := l.fs.Rename(temp, segmentName(l.dir, head.ID, segmentSuffix)); err != nil {
		return err
	}
	// The name before the first block: a crash must not take a name away whose blocks were
	// acknowledged, nor leave blocks sealed for an id that will be given out again.
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	if l.lost != nil {
		_ = l.lost.file.Close() // copied
		l.lost = nil
	}
	s.synced, l.synced = s.end, l.written
	l.looked = time.Now()
	if n := len(l.segs); n > 0 && l.segs[n-1].First >= s.First { // the copy replaced it whole
		l.dead = append(l.dead, l.segs[n-1])
		l.segs = l.segs[:n-1]
	}
	l.segs = append(l.segs, s)
	l.active = s
	return nil
}

func (l *Log) newSalt() uint64 {
	var salt [8]byte
	l.o.random(salt[:])
	return binary.LittleEndian.Uint64(salt[:])
}

// fileFor opens a file for the next segment, and returns the name that it has until the segment's
// header is durable. The caller holds io.
func (l *Log) fileFor(head *segmentHead) (temp string, f File, err error) {
	// A copy of what was lost goes into a new file, never into a recycled one. The copy is sealed
	// before its id is taken for good. What a crash left of it in a recycled file would parse when
	// the id is given out again.
	if n := len(l.free); n > 0 && l.lost == nil {
		temp = segmentName(l.dir, l.free[n-1], freeSuffix)
		l.free = l.free[:n-1]
		head.Recycled = true
		f, err = l.fs.Open(temp, true)
	} else {
		temp = segmentName(l.dir, head.ID, newSuffix)
		f, err = l.fs.Create(temp)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	return temp, f, err
}

// abandon leaves the active segment for good after a failed write or sync. The caller holds io.
func (l *Log) abandon(syncFailed bool) {
	s := l.active
	if s == nil {
		return
	}
	if fl := l.flight; fl != nil {
		<-fl.done
		l.flight = nil
		if fl.err == nil {
			s.synced, l.synced = fl.end, fl.last
		}
		syncFailed = syncFailed || fl.err != nil
	}
	l.active = nil
	if l.synced < l.written && !syncFailed {
		if err := s.file.Sync(); err == nil {
			s.synced, l.synced = s.end, l.written
		}
	}
	// Blocks that the failed commit left are ignored, because the next segment begins at their
	// position. Cutting them off gives back the space reserved ahead, which a full disk needs.
	_ = s.file.Truncate(s.end)
	file := s.file
	s.file, s.size = nil, s.end
	if l.synced < l.written {
		l.lost = &tail{file: file, salt: s.Salt, segment: s.ID, from: s.synced, to: s.end, first: l.synced + 1}
		return
	}
	_ = file.Close() // what was to be synced is
	if s.First == l.written+1 {
		l.segs = l.segs[:len(l.segs)-1]
		l.dead = append(l.dead, s)
		_ = l.bury() // drop and the next begin try again
	}
}

// bury removes the dead segments: nothing in them counts, because a newer segment begins at the
// same position. Open leaves out a dead segment as long as the newer one is there, so the newer one
// must not go first. A segment that the mark names, or may name, stays until the mark names another
// one, and one that a replay reads until that is over. The caller holds io.
func (l *Log) bury() error {
	var kept []*segment
	n := 0
	for _, s := range l.dead {
		if s.ID == l.slots.mark.Segment || s.ID == l.slots.tried || s.pins > 0 {
			kept = append(kept, s)
			continue
		}
		n++
		err := l.fs.Remove(segmentName(l.dir, s.ID, segmentSuffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	l.dead = kept
	return nil
}

// A tail is the end of an abandoned segment whose records were acknowledged and could not be synced
// afterwards.
type tail struct {
	file     File
	salt     uint64
	segment  uint64
	from, to int64
	first    Pos
}

// copyTo writes the blocks of the tail into another segment, sealed for that one.
func (t *tail) copyTo(s *segment, o Options) error {
	r := blockReader{file: t.file, salt: t.salt, off: t.from, size: t.to}
	for next := t.first; ; {
		h, err := r.check(next)
		if errors.Is(err, errEnd) && r.off == t.to {
			return nil
		}
		if err != nil {
			return &CorruptError{Segment: t.segment, Offset: r.off, Err: fmt.Errorf("copy what could not be synced: %w", err)}
		}
		whole, err := r.window(r.off, blockHeader+h.Stored)
		if err != nil {
			return err
		}
		next, h.Durable = h.Last()+1, min(h.Durable, s.First-1)
		h.put(whole)
		sealBlock(whole, s.Salt)
		if err := s.write(whole, s.end, o.SegmentBytes, !o.DisablePreallocate); err != nil {
			return err
		}
		s.end += int64(len(whole))
		r.skip(h)
	}
}
