package core

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/wal"
)

// makeFolder makes dir and those above it, so that loss of power does not take them away again.
func makeFolder(dir string) error {
	dir = filepath.Clean(dir)
	if _, err := os.Stat(dir); err == nil {
		return nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	above := filepath.Dir(dir)
	if err := makeFolder(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncFolder(above)
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// fileSpool is where a backup keeps the catalogue meanwhile. The name is gone as soon as the file is open, where
// the system allows it; else whoever opens the store next takes away what a crash left.
const fileSpool = "rondo.spool"

// createSpool makes a file that nobody else sees, in the store's folder or, where that is only to be read or another
// backup has just begun, in the system's for temporary files.
func (s *Store) createSpool() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, fileSpool), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if f, err = os.CreateTemp("", "rondo-spool-*"); err != nil {
			return nil, err
		}
	}
	_ = os.Remove(f.Name()) // not while it is open, on some systems: then it is done when it is closed
	return f, nil
}

// removeSpool removes what a backup left that a crash has ended.
func (s *Store) removeSpool() { _ = os.Remove(filepath.Join(s.dir, fileSpool)) } // it costs space only

// checkLog refuses a log that lacks what the database knows it held. after is the highest position
// that any group stands for: the log must reach that far if the catalogue does not, because the
// groups of lower positions need what lies between. Nothing is written: whoever has the missing
// part can put it back.
func (s *Store) checkLog(after wal.Pos) error {
	name := filepath.Join(s.dir, dirLog)
	pos := s.catalogue.pos
	if s.options.fs == nil && after > 0 {
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the folder is missing, and with it what was logged after position %d: %w; an empty folder in its place gives that up", pos, wal.ErrHole)
		}
	}
	if after <= pos {
		return nil
	}
	l, err := wal.Open(name, wal.Options{ReadOnly: true, FS: s.options.fs})
	if err != nil {
		return err
	}
	last := l.Last()
	if last < after {
		if err = l.Blocks(last, func(wal.Block) error { return nil }); err == nil { // damage says more
			err = fmt.Errorf("the log ends at position %d, the database was written from %d on up to %d: %w", last, pos+1, after, wal.ErrHole)
		}
	}
	return errors.Join(err, l.Close())
}
