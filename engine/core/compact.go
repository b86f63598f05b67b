package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// Compact needs room on the disk for all entries of the database once more, compactMargin of that
// for pages that are not full, and compactSpare bytes that it leaves to the log.
const (
	compactMargin = 0.1
	compactSpare  = 64 << 20
)

// compactSlice is how many bytes Compact copies in one transaction.
const compactSlice = 4 << 20

// compactPause is the longest time that Compact waits between two slices for writers.
const compactPause = 200 * time.Millisecond

var (
	// ErrCompacting says that another Compact of the store is under way.
	ErrCompacting = boltfile.ErrCompacting
	// ErrNoRoom says that the disk has too little space for a second copy of the database.
	ErrNoRoom = errors.New("the disk has too little space")
)

// A Compacted says what Compact has done. Before and After are the bytes of the database's file.
type Compacted struct {
	Before, After int64
	Took          time.Duration
}

// Compact gives free pages of the database's file back to the file system, which the database
// itself only uses again. It copies the database into a second file, rondo.bolt.compacting, which
// then takes the place of the first. Appends, checkpoints and fetches go on meanwhile; checkpoints
// wait for a moment at the end. The copy is slower while samples come in.
//
// The error wraps ErrNoRoom if the disk has too little space for both files, ErrDamaged if pages
// cannot be read, and ErrCompacting if another call is under way. After an error the database is as
// it was.
func (s *Store) Compact(ctx context.Context) (done Compacted, err error) {
	if err := s.enterWrite(); err != nil {
		return done, err
	}
	defer s.leave()
	begun := time.Now()
	if err = s.checkRoom(); err == nil {
		c := compactor{s: s, slice: begun, batches: s.appender.batches.Load()}
		done.Before, done.After, err = s.db.Compact(ctx, boltfile.Compaction{
			Slice: s.options.slice, Fill: fillOf, Between: c.between, Hold: s.checkpoints.hold, Step: s.failpoint,
		})
	}
	done.Took = time.Since(begun)
	if err != nil {
		return done, fmt.Errorf("compact: %w", err)
	}
	s.failpoint("compact-end")
	s.options.Logger.Info("the database was compacted", "before", done.Before, "after", done.After, "took", done.Took.Round(time.Millisecond))
	return done, nil
}

// hold keeps checkpoints, and walks over the file, away until release is called.
func (cp *checkpointer) hold() (release func()) {
	cp.mu.Lock()
	return cp.mu.Unlock
}

// fillOf returns how full a bucket's pages are made. Row blocks are never changed. A state is
// replaced by one that may be larger.
func fillOf(bucket []byte) float64 {
	if bytes.Equal(bucket, bucketRows) {
		return 1
	}
	return 0.9
}

// room returns the free bytes of the disk.
func (s *Store) room() (int64, error) {
	if s.options.room != nil {
		return s.options.room()
	}
	return boltfile.Room(s.dir)
}

// checkRoom refuses a disk that has no room for a second copy.
func (s *Store) checkRoom() error {
	size, free := s.db.Size()
	need := int64(float64(size-free)*(1+compactMargin)) + compactSpare
	room, err := s.room()
	if err != nil {
		return err
	}
	if room < need {
		return fmt.Errorf("%w: %d MiB are free, and a second copy of the database needs up to %d MiB beside the first", ErrNoRoom, room>>20, (need+1<<20-1)>>20)
	}
	return nil
}

// A compactor watches the store while it is compacted.
type compactor struct {
	s       *Store
	slice   time.Time // when the slice began
	batches uint64    // that had been appended by then
}

// between waits while samples come in: as long as the slice took, so that half of the time is left
// to them. It ends the compaction when the disk fills up.
func (c *compactor) between(ctx context.Context, _ int) error {
	room, err := c.s.room()
	if err != nil {
		return err
	}
	if room < compactSpare/2 {
		return fmt.Errorf("%w: %d MiB are left, which the log needs", ErrNoRoom, room>>20)
	}
	if n := c.s.appender.batches.Load(); n != c.batches {
		c.batches = n
		pause := time.NewTimer(min(time.Since(c.slice), compactPause))
		defer pause.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
	c.slice = time.Now()
	return nil
}
