package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Recovery
//
// A file with the name of a segment has a whole header, because the header is durable before the
// file gets that name. So a header that does not parse is damage, and never the trace of a crash.
//
// The first position of a segment was the first position that was not durable when the segment was
// begun. Records of earlier segments at or above that position do not count. They are the tail of a
// segment that was abandoned after a failed write: their appenders got an error, and their
// positions were given to other records. A segment without a record that counts is removed.
//
// Every segment but the newest was durable up to the first position of the next one. Records that
// are missing there are damage, be it that the segment is cut, damaged or missing. Replay finds it
// when it reads there. Open reads the headers of these segments only.
//
// The newest segment ends where its blocks stop parsing. That is the torn tail of a crash, or
// damage to records that were acknowledged. The file mark says how far the log reached when the
// segment was begun or the log was closed: up to there it is damage. Behind that point, later
// blocks decide: each carries the position up to which everything was durable when it was written.
// If no later block vouches for the missing position, no appender took it for durable. Open then
// cuts the segment there, and reports the cut in Stats.
//
// After a clean end the mark stands at the end of the log, and Open has nothing to do. Otherwise
// Open writes the newest part of the newest segment once more in place and syncs it, before anyone
// reads it. After a kill this part may be in the page cache only, even if a sync was tried, and a
// record that was read must not vanish in the next loss of power. The same sync makes the cut
// durable, so that blocks behind it, which were sealed for this segment, cannot come back behind
// new blocks. Open also syncs the folder, because the name of the newest segment may be in the page
// cache only. Then it moves the mark to the end.

// list reads the folder: the mark, the headers of the segments, and what else lies there. Nothing
// is changed. The log is new if there is neither a mark nor a segment.
func (l *Log) list() (fresh bool, err error) {
	names, err := l.fs.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) && !l.o.ReadOnly {
		names, err = nil, nil
	}
	if err != nil {
		return false, err
	}
	slices.Sort(names)
	l.begun, l.free = nil, nil
	for _, name := range names {
		if id, ok := parseName(name, segmentSuffix); ok {
			if l.tailErr != nil { // a read-only log ends before a damaged header
				continue
			}
			if err := l.loadHead(id); err != nil {
				if corrupt := (*CorruptError)(nil); !l.o.ReadOnly || !errors.As(err, &corrupt) {
					return false, err
				}
				l.tailErr = err
			}
		} else if id, ok := parseName(name, freeSuffix); ok {
			l.free = append(l.free, id)
		} else if _, ok := parseName(name, newSuffix); ok || name == markName+newSuffix {
			l.begun = append(l.begun, name)
		}
	}
	l.slots, err = l.readMark()
	if errors.Is(err, fs.ErrNotExist) {
		if len(l.segs) == 0 && l.tailErr == nil {
			return true, nil
		}
		err = fmt.Errorf("%w: the file %s is missing, and without it nobody knows how far the log reached", ErrHole, markName)
	}
	if err != nil && l.o.ReadOnly && len(l.segs) > 0 {
		l.tailErr = cmp.Or(l.tailErr, err)
		l.slots, err = slots{mark: Mark{Log: l.segs[0].Log}}, nil
	}
	return false, err
}

// load finds the end of the log among the segments that were listed.
func (l *Log) load() error {
	if l.o.Log != (ID{}) && l.o.Log != l.slots.mark.Log {
		return fmt.Errorf("%w: this is log %v, and %v is wanted", ErrHole, l.slots.mark.Log, l.o.Log)
	}
	for i, s := range l.segs {
		if s.Log != l.slots.mark.Log {
			err := &CorruptError{Segment: s.ID, Offset: offsetLog, Err: fmt.Errorf("segment belongs to log %v, this is log %v", s.Log, l.slots.mark.Log)}
			if !l.o.ReadOnly || i == 0 {
				return err
			}
			l.segs, l.tailErr = l.segs[:i], err
			break
		}
	}
	if err := l.reaches(l.slots.mark); err != nil {
		if !l.o.ReadOnly {
			return err
		}
		l.tailErr = cmp.Or(l.tailErr, err) // Replay will say so when it gets there
	}
	l.dropDead()
	if len(l.segs) == 0 {
		l.written = max(l.o.After, l.slots.mark.Last)
		l.synced = l.written
		return nil
	}
	return l.loadTail()
}

func (l *Log) loadHead(id uint64) error {
	name := segmentName(l.dir, id, segmentSuffix)
	f, err := l.fs.Open(name, false)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("size of %s: %w", name, err)
	}
	r := blockReader{file: f, size: min(size, segmentHeader)} // it would read ahead
	b, err := r.window(0, segmentHeader)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	head, err := parseSegmentHead(b)
	if err == nil && head.ID != id {
		err = fmt.Errorf("segment header has id %d", head.ID)
	}
	if err != nil {
		return &CorruptError{Segment: id, Err: err}
	}
	l.segs = append(l.segs, &segment{segmentHead: head, end: size, size: size})
	l.nextID = id + 1
	return nil
}

// tidy removes files that the last process left: segments that never got their name, in which no
// record was acknowledged, and free files beyond the number that is kept. They only take space, so
// errors are ignored: the next Open tries again.
func (l *Log) tidy() {
	for _, name := range l.begun {
		_ = l.fs.Remove(filepath.Join(l.dir, name))
	}
	for len(l.free) > l.maxFree {
		n := len(l.free) - 1
		_ = l.fs.Remove(segmentName(l.dir, l.free[n], freeSuffix))
		l.free = l.free[:n]
	}
}

// dropDead leaves out segments that begin at or behind the first position of a newer one: nothing
// in them counts.
func (l *Log) dropDead() {
	var live []*segment
	for i := len(l.segs) - 1; i >= 0; i-- {
		s := l.segs[i]
		if len(live) > 0 && s.First >= live[len(live)-1].First {
			l.dead = append(l.dead, s)
			continue
		}
		live = append(live, s)
	}
	slices.Reverse(live)
	l.segs = live
}

// loadTail finds the end of the newest segment, cuts what does not belong to it, and makes it the
// active one.
func (l *Log) loadTail() (err error) {
	s := l.segs[len(l.segs)-1]
	f, err := l.fs.Open(segmentName(l.dir, s.ID, segmentSuffix), !l.o.ReadOnly)
	if err != nil {
		return err
	}
	defer func() {
		if l.active == nil {
			err = errors.Join(err, f.Close())
		}
	}()
	end, last, torn, err := findTail(f, s, l.floor(s))
	l.written, l.synced, s.end = last, last, end
	switch {
	case err != nil:
	case last < l.slots.mark.Last:
		err = fmt.Errorf("%w: the log ends at position %d, and reached %d at least", ErrHole, last, l.slots.mark.Last)
	case last < l.o.After:
		err = fmt.Errorf("%w: the log ends at position %d, and %d is already held", ErrHole, last, l.o.After)
	}
	var corrupt *CorruptError
	if l.o.ReadOnly && (errors.Is(err, ErrHole) || errors.As(err, &corrupt)) {
		l.tailErr = cmp.Or(l.tailErr, err) // Replay will say so when it gets there
		return nil
	}
	if err != nil || l.o.ReadOnly {
		return err
	}
	if torn > 0 {
		l.stats.TornBytes = torn
		l.o.Logger.Warn("log had a torn tail, which was never acknowledged: cut",
			"segment", s.ID, "offset", end, "bytes", torn, "last", uint64(last))
	}
	clean := l.slots.mark == Mark{Log: s.Log, Segment: s.ID, End: end, Last: last}
	if end < s.size {
		if err := f.Truncate(end); err != nil {
			return fmt.Errorf("cut segment %d at offset %d: %w", s.ID, end, err)
		}
		clean = false
	}
	s.size, s.synced, s.file = end, end, f
	l.active = s
	if clean {
		return nil
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	if err := rewrite(f, l.floor(s), end); err != nil {
		return fmt.Errorf("write segment %d again: %w", s.ID, err)
	}
	if err := f.Sync(); err != nil {
		return l.rewriteTail(fmt.Errorf("sync segment %d: %w", s.ID, err))
	}
	return nil
}

// rewrite writes the bytes of a file from one offset to another once more in place. A sync of them
// may have failed in the process that wrote them, before it was killed. Then the page cache counts
// the bytes as clean although they never reached the disk, and a sync alone would return nil.
func rewrite(f File, from, to int64) error {
	buf := make([]byte, min(readBytes, max(to-from, 0)))
	for at := from; at < to; {
		b := buf[:min(int64(len(buf)), to-at)]
		if n, err := f.ReadAt(b, at); n < len(b) {
			return err
		}
		if err := writeAll(f, b, at); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

// rewriteTail copies the records behind the mark into a new segment after a failed sync. The error
// may stem from writes of an earlier process. The system reports it only once, and the page cache
// may count bytes as clean that never reached the disk.
func (l *Log) rewriteTail(err error) error {
	l.o.Logger.Error("log could not sync its newest segment, and writes the end of it again", "segment", l.active.ID, "error", err)
	s, m := l.active, l.slots.mark
	s.synced, l.synced = segmentHeader, s.First-1
	if m.Segment == s.ID {
		s.synced, l.synced = m.End, m.Last
	}
	l.abandon(true)
	if l.lost == nil { // nothing that counts was to be synced
		return nil
	}
	if again := l.begin(); again != nil {
		return errors.Join(err, again)
	}
	return nil
}

// findTail walks the newest segment to its end. It returns the last position before the end, and
// how many bytes behind it an interrupted commit left. Everything before floor was durable.
func findTail(f File, s *segment, floor int64) (end int64, last Pos, torn int64, err error) {
	r := blockReader{file: f, salt: s.Salt, off: segmentHeader, size: s.size}
	last = s.First - 1
	h, stop := r.check(last + 1)
	for stop == nil {
		r.skip(h)
		last = h.Last()
		h, stop = r.check(last + 1)
	}
	end = r.off
	var unread *readError
	if errors.As(stop, &unread) {
		return end, last, 0, fmt.Errorf("read segment %d at offset %d: %w", s.ID, end, stop)
	}
	if end < floor {
		return end, last, 0, &CorruptError{Segment: s.ID, Offset: end, Err: fmt.Errorf("%w, and the segment reached offset %d: %w", stop, floor, ErrHole)}
	}
	if errors.Is(stop, ErrNewer) {
		return end, last, 0, &CorruptError{Segment: s.ID, Offset: end, Err: stop}
	}
	durable, tail, err := r.ahead()
	if errors.Is(err, ErrNewer) {
		return end, last, 0, &CorruptError{Segment: s.ID, Offset: end, Err: fmt.Errorf("%w, and behind it: %w", stop, err)}
	}
	if err != nil {
		return end, last, 0, fmt.Errorf("read segment %d behind offset %d: %w", s.ID, end, err)
	}
	if durable > last {
		return end, last, 0, &CorruptError{Segment: s.ID, Offset: end, Err: fmt.Errorf("%w, and position %d was durable", stop, durable)}
	}
	if !s.Recycled {
		if tail, err = r.content(end); err != nil {
			return end, last, 0, fmt.Errorf("read segment %d behind offset %d: %w", s.ID, end, err)
		}
	}
	return end, last, max(tail-end, 0), nil
}
