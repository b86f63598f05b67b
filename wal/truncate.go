package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const (
	// freeBytes of truncated segments are kept for reuse. Their blocks on disk were written before,
	// so an fdatasync of new content need not go through the file system's journal: that saves a
	// third of its time.
	freeBytes = 64 << 20
	mostFree  = 2 // files
	// rollBytes is the size from which the active segment is replaced when all of it was truncated:
	// Open reads all of the active segment.
	rollBytes = 256 << 10
)

// Truncate drops the records at and below upto, by whole segments, so some of them may stay
// readable. Truncate waits for a commit in progress, so OnDurable must not call it. It keeps the
// segments that a Replay in progress reads.
func (l *Log) Truncate(upto Pos) error {
	if l.o.ReadOnly {
		return ErrSealed
	}
	l.io.Lock()
	defer l.io.Unlock()
	if l.lock == nil {
		return ErrClosed
	}
	l.looked = time.Time{}
	if err := l.present(); err != nil {
		return fmt.Errorf("truncate log up to %d: %w", upto, appendError(err))
	}
	l.keep = max(l.keep, min(upto, l.written))
	if s := l.active; s != nil && l.keep == l.written && s.end >= min(rollBytes, l.o.SegmentBytes) {
		if err := l.roll(); err != nil {
			return fmt.Errorf("truncate log up to %d: %w", upto, appendError(err))
		}
	}
	if err := l.drop(); err != nil {
		return fmt.Errorf("truncate log up to %d: %w", upto, appendError(err))
	}
	return nil
}

// drop removes the oldest segments in which no record is needed, or keeps their files for reuse.
// The caller holds io.
func (l *Log) drop() error {
	if err := l.marked(); err != nil {
		return err
	}
	if err := l.bury(); err != nil {
		return err
	}
	for len(l.segs) > 1 && l.segs[1].First-1 <= l.keep && l.segs[0].pins == 0 {
		s := l.segs[0]
		name := segmentName(l.dir, s.ID, segmentSuffix)
		reuse := len(l.free) < l.maxFree && s.size >= l.o.SegmentBytes/2
		var err error
		if reuse {
			err = l.fs.Rename(name, segmentName(l.dir, s.ID, freeSuffix))
		} else {
			err = l.fs.Remove(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			l.o.Logger.Warn("a segment of the log was gone before it was removed", "segment", s.ID)
			reuse, err = false, nil
		}
		if err != nil {
			return err
		}
		l.segs = l.segs[1:]
		// Names are synced after each segment, so that no crash leaves an older segment without a
		// newer one; and before the file is written again, because another segment's header under
		// the old name would be damage.
		if err := l.fs.SyncDir(l.dir); err != nil {
			if reuse {
				_ = l.fs.Remove(segmentName(l.dir, s.ID, freeSuffix)) // it costs space only, and Open finds it
			}
			return err
		}
		if reuse {
			l.free = append(l.free, s.ID)
		}
	}
	return nil
}
