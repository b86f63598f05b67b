package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Recovery
//
// A file that has a segment's name has a whole header: it was durable before the file got the name. So a header
// that does not parse is damage and never the trace of a crash.
//
// The first position of a segment was the first that was not durable when the segment was begun. It cuts what
// earlier segments hold at or above it: the tail of one that was abandoned after a failed write, whose records
// were told as failed and whose positions were given out again. A segment cut to nothing goes.
//
// All segments but the newest are therefore known to be durable up to the next one's first position, and what
// is missing there is damage; Replay finds it. The newest one ends where its blocks stop making sense. That is
// the torn tail of a crash, or it is damage to something that was acknowledged; the blocks behind it tell which,
// because each carries the position up to which all was durable when it was written. If none of them knows of
// the position that is missing, nobody was ever told that it is there: it is cut, and reported in Stats.
//
// What is left of the newest segment is synced before anyone is shown it: after a kill it may so far be in the
// page cache only, and a record that was read must not vanish in the next loss of power. The cut is synced with
// it, so that blocks behind it, which were sealed for this same segment, cannot come back behind new ones. The
// folder is synced for the same reason: the name of the newest segment may be in the page cache only.

// load lists the folder and finds the end of the log.
func (l *Log) load() error {
	names, err := l.fs.ReadDir(l.dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if id, ok := parseName(name, segmentSuffix); ok {
			if err := l.loadHead(id); err != nil {
				return err
			}
		} else if id, ok := parseName(name, freeSuffix); ok && !l.o.ReadOnly {
			l.loadFree(id)
		} else if _, ok := parseName(name, newSuffix); ok && !l.o.ReadOnly {
			// Begun and never named: nothing was acknowledged in it.
			_ = l.fs.Remove(filepath.Join(l.dir, name)) // it costs space only, and the next Open tries again
		}
	}
	l.dropDead()
	if len(l.segs) == 0 {
		l.written = l.o.After
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

// loadFree keeps or removes a file of a former segment. What it holds does not matter, nor whether this works.
func (l *Log) loadFree(id uint64) {
	l.free = append(l.free, id)
	if len(l.free) > l.maxFree {
		l.free = l.free[:len(l.free)-1]
		_ = l.fs.Remove(segmentName(l.dir, id, freeSuffix)) // it costs space only, and the next Open tries again
	}
}

// dropDead leaves out the segments that hold nothing below the next one's first position.
func (l *Log) dropDead() {
	var live []*segment
	for i := len(l.segs) - 1; i >= 0; i-- {
		s := l.segs[i]
		if len(live) > 0 && s.First >= live[len(live)-1].First {
			l.dead = append(l.dead, s.ID)
			continue
		}
		live = append(live, s)
	}
	slices.Reverse(live)
	l.segs = live
}

// loadTail finds the end of the newest segment, cuts what does not belong to it, and makes it the active one.
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
	end, last, torn, err := findTail(f, s)
	l.written, l.synced, s.end = last, last, end
	var corrupt *CorruptError
	if l.o.ReadOnly && errors.As(err, &corrupt) {
		l.tailErr = corrupt // Replay will say so when it gets there
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
	if end < s.size {
		if err := f.Truncate(end); err != nil {
			return fmt.Errorf("cut segment %d at offset %d: %w", s.ID, end, err)
		}
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync segment %d: %w", s.ID, err)
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	s.size, s.synced, s.file = end, end, f
	l.active = s
	return nil
}

// findTail walks the newest segment to its end and tells the last position before it and how many bytes behind
// it are the rest of an interrupted commit.
func findTail(f File, s *segment) (end int64, last Pos, torn int64, err error) {
	r := blockReader{file: f, salt: saltOf(s.ID), off: segmentHeader, size: s.size}
	last = s.First - 1
	var stop error
	for {
		var h blockHead
		var payload []byte
		if h, stop = r.next(); stop != nil {
			break
		}
		if h.First != last+1 {
			stop = fmt.Errorf("%w: block has position %d after %d", ErrHole, h.First, last)
			break
		}
		if payload, stop = r.payload(h); stop != nil {
			break
		}
		if h.sum != checksum(payload) {
			stop = errPayloadChecksum
			break
		}
		r.skip(h)
		last = h.last()
	}
	end = r.off
	var unread *readError
	if errors.As(stop, &unread) {
		return end, last, 0, fmt.Errorf("read segment %d at offset %d: %w", s.ID, end, stop)
	}
	durable, tail, err := r.ahead()
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
