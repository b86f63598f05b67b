package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const (
	// freeBytes of truncated segments are kept: their blocks on disk are written, so that an fdatasync of new
	// content need not go through the file system's journal. It saves a third of the time.
	freeBytes = 64 << 20
	mostFree  = 2 // files
	// rollBytes is how big the active segment must be to be worth replacing when all of it was truncated.
	// Open reads all of it.
	rollBytes = 256 << 10
)

// Truncate tells that the records at and below upto are no longer needed. Segments that hold nothing else go;
// a position above First may still be readable. It waits for a commit under way and must not be called from
// OnDurable; a Replay under way keeps the segments it reads.
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

// drop removes or sets aside the oldest segments while nothing in them is needed. io is held.
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
		// One by one, so that no crash leaves an older segment without a newer one. And before the file is
		// written again: under its old name another segment's header would be damage.
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
