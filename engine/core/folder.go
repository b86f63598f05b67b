package core

import (
	"errors"
	"os"
	"path/filepath"
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
