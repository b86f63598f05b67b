package core

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// Compact needs room on the disk for all entries of the database once more, compactMargin of that
// for pages that are not full, and compactSpare bytes that it leaves to others.
const (
	compactMargin = 0.1
	compactSpare  = 64 << 20
)

// ErrNoRoom says that the disk has too little space for a second copy of the database.
var ErrNoRoom = errors.New("the disk has too little space")

// A Compacted says what Compact has done. Before and After are the bytes of the database's file.
type Compacted struct {
	Before, After int64
	Took          time.Duration
}

// Compact gives free pages of the database's file in the folder dir back to the file system, which
// the database itself only uses again. It copies the database into a second file,
// rondo.bolt.compacting, which then takes the place of the first. A store that is opened for a
// server does so by itself if more than half of the file is free.
//
// The error wraps ErrLocked if another process has the database open, ErrNoRoom if the disk has too
// little space for both files, and ErrDamaged if a page cannot be read. After an error the database
// is as it was.
func Compact(ctx context.Context, dir string, o Options) (done Compacted, err error) {
	s := newStore(dir, o)
	err = locked(dir, &s.options, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := boltfile.Open(filepath.Join(dir, fileDB), boltfile.Options{ReadOnly: true, Logger: s.options.Logger, Fault: s.options.fault})
		if err != nil {
			return databaseError(err)
		}
		size, free := f.Size()
		if err := f.Close(); err != nil {
			return err
		}
		done, err = s.compact(size, free)
		return err
	})
	return done, err
}

// compact makes the database's file of size bytes, which nobody has open, smaller.
func (s *Store) compact(size, free int64) (done Compacted, err error) {
	begun := time.Now()
	if err = s.checkRoom(size - free); err == nil {
		o := boltfile.Options{Logger: s.options.Logger, Damage: &s.damage, Fault: s.options.fault}
		done.Before, done.After, err = boltfile.Compact(filepath.Join(s.dir, fileDB), o, s.failpoint)
	}
	done.Took = time.Since(begun)
	if err != nil {
		return done, fmt.Errorf("compact: %w", err)
	}
	s.failpoint("compact-end")
	s.options.Logger.Info("the database was compacted", "before", done.Before, "after", done.After, "took", done.Took.Round(time.Millisecond))
	return done, nil
}

// compactAtStart compacts a database that was just opened, and opens it again, if more than half of
// its file is free. A failure costs space only.
func (s *Store) compactAtStart() error {
	size, free := s.db.Size()
	if s.options.ReadOnly || s.options.NoBackground || free < s.options.compactFrom || free <= size/2 {
		return nil
	}
	if err := s.db.Close(); err != nil {
		return err
	}
	if _, err := s.compact(size, free); err != nil {
		s.options.Logger.Warn("more than half of the database's file is free, and it could not be compacted", "err", err)
	}
	_, err := s.openVersion()
	return err
}

// room returns the free bytes of the disk.
func (s *Store) room() (int64, error) {
	if s.options.room != nil {
		return s.options.room()
	}
	return boltfile.Room(s.dir)
}

// checkRoom refuses a disk that has no room for a second copy of used bytes.
func (s *Store) checkRoom(used int64) error {
	need := int64(float64(used)*(1+compactMargin)) + compactSpare
	room, err := s.room()
	if err != nil {
		return err
	}
	if room < need {
		return fmt.Errorf("%w: %d MiB are free, and a second copy of the database needs up to %d MiB beside the first", ErrNoRoom, room>>20, (need+1<<20-1)>>20)
	}
	return nil
}
