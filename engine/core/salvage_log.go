package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/wal"
)

// dirSalvage is the folder of the log that SalvageLog writes, until it replaces the damaged log.
const dirSalvage = "wal.salvage"

// SalvagedLog says what SalvageLog has done, or would do.
type SalvagedLog struct {
	Catalogue wal.Pos // the database holds the log up to here
	Last      wal.Pos // the log can be read behind Catalogue up to here: these records are kept
	// the log is known to have reached up to here at least: records above Last are lost
	Known  wal.Pos
	Damage error // why the log was refused
	// the folder that the damaged log was renamed to; empty if no log was there, or nothing was
	// done
	Aside string
}

// ErrWhole says that there is nothing to salvage.
var ErrWhole = errors.New("the log is whole")

// SalvageLog makes a database usable whose log was refused. It copies the readable records behind
// the position of the database into a new log, and sets the damaged log aside. Records that cannot
// be read are lost. Without write, SalvageLog changes nothing. It returns ErrWhole if the log is
// whole. It refuses a database that was written from records that cannot be read any more, and a
// log of which a newer version of rondo wrote a part (ErrNewer).
func SalvageLog(ctx context.Context, dir string, o Options, write bool) (got SalvagedLog, err error) {
	s := newStore(dir, o)
	s.options.ReadOnly = !write
	if err := hasDatabase(dir); err != nil {
		return got, err
	}
	if s.lock, err = lockFolder(filepath.Join(dir, fileLock), s.options); err != nil {
		return got, err
	}
	defer func() {
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
		err = errors.Join(err, s.lock.Close())
		if err != nil {
			err = fmt.Errorf("salvage the log of %s: %w", dir, err)
		}
	}()
	if err := HalfRestored(dir); err != nil {
		return got, err
	}
	var groups wal.Pos
	if got.Catalogue, groups, err = s.reached(); err != nil {
		return got, fmt.Errorf("%s: %w", fileDB, err)
	}
	from := filepath.Join(dir, dirLog)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		// A salvage that was ended between its two renames had finished its copy.
		if err := os.Rename(filepath.Join(dir, dirSalvage), from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return got, err
		}
	}
	got.Last, got.Known = got.Catalogue, max(s.holds.Last, groups)
	if got.Damage = s.readable(ctx, from, &got, nil); got.Damage == nil {
		return got, ErrWhole
	}
	if errors.Is(got.Damage, wal.ErrNewer) {
		return got, newerPart{got.Damage.Error()}
	}
	if got.Last < groups {
		return got, fmt.Errorf("the database was written from records up to position %d, and the log can be read up to %d: restore a backup: %w", groups, got.Last, got.Damage)
	}
	if !write {
		return got, nil
	}
	return got, s.replaceLog(ctx, from, &got)
}

// reached opens the database and returns up to which positions of the log its catalogue and its
// groups were written.
func (s *Store) reached() (catalogue, groups wal.Pos, err error) {
	if _, err := s.openVersion(); err != nil {
		return 0, 0, err
	}
	err = s.db.View(bucketMeta, func(tx *boltfile.Tx) error {
		c, err := metaNumber(tx, metaCatalogue)
		if err != nil {
			return err
		}
		g, err := metaNumber(tx, metaGroups)
		if err != nil {
			return err
		}
		catalogue, groups = wal.Pos(c), wal.Pos(g)
		return s.loadMark(tx)
	})
	return catalogue, groups, err
}

// readable walks the readable records of the log behind the catalogue's position, and appends them
// to the log to, if it is not nil. It returns why the log would be refused.
func (s *Store) readable(ctx context.Context, from string, got *SalvagedLog, to *wal.Log) error {
	l, err := wal.Open(from, wal.Options{ReadOnly: true, Holds: s.holds, After: got.Known})
	if err != nil {
		return err
	}
	got.Known = max(got.Known, l.Marked().Last, l.Last())
	whole := l.Whole()
	if first := l.First(); first > got.Catalogue+1 {
		return errors.Join(fmt.Errorf("%w: the store holds the log up to %d, the log begins at %d", wal.ErrHole, got.Catalogue, first), whole, l.Close())
	}
	err = l.Replay(got.Catalogue+1, func(p wal.Pos, rec []byte) error {
		if to != nil {
			if _, err := to.Append(ctx, rec); err != nil {
				return err
			}
		}
		got.Last = p
		return ctx.Err()
	})
	if err == nil {
		err = whole
	}
	return errors.Join(err, l.Close())
}

// replaceLog copies the readable records into a new log and replaces the old log by it.
func (s *Store) replaceLog(ctx context.Context, from string, got *SalvagedLog) error {
	made := filepath.Join(s.dir, dirSalvage)
	if err := os.RemoveAll(made); err != nil {
		return err
	}
	to, err := wal.Open(made, wal.Options{After: got.Catalogue, SegmentBytes: segmentBytes, Sync: wal.SyncNone})
	if err != nil {
		return err
	}
	last := got.Last
	_ = s.readable(ctx, from, got, to) // it ends with the damage that is known already
	if err := to.Close(); err != nil {
		return err
	}
	if got.Last != last || to.Last() != last {
		return fmt.Errorf("copied the log up to position %d of %d", to.Last(), last)
	}
	got.Aside = asideName(from)
	if err := os.Rename(from, got.Aside); errors.Is(err, fs.ErrNotExist) {
		got.Aside = ""
	} else if err != nil {
		return err
	}
	if err := os.Rename(made, from); err != nil {
		return err
	}
	if err := owner.SyncFolder(s.dir); err != nil {
		return err
	}
	mark := to.Mark()
	return s.db.Update(bucketMeta, func(tx *boltfile.Tx) error {
		if err := putStoreID(tx); err != nil { // positions of lost records come again
			return err
		}
		return putMark(tx, mark)
	}, nil)
}
