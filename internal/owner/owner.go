// Package owner opens the files that a store writes, and makes its folders. It is safe to use as
// root in a folder whose owner is not trusted.
//
// A database belongs to the user that runs rondo serve. A command that root runs while the server
// is stopped also makes files there: a segment of the log, a repaired database. If root owned them,
// the server could not start again. So each new file and folder gets the owner and the group of the
// folder that it is made in. Ownership changes only when root runs the command, and only on Unix.
//
// The owner of the folder could put a link there that leads to one of root's files, or replace a
// folder with a link while root works. So a file is written only if it is no symbolic link and has
// no second name, and root makes a file and changes its owner through one open folder: no name is
// looked up twice.
package owner

import (
	"errors"
	"os"
	"path/filepath"
)

// Mkdir is os.Mkdir, but the new folder gets the owner of the folder above it.
func Mkdir(name string, perm os.FileMode) error { return mkdir(filepath.Clean(name), perm) }

// MkdirAll is os.MkdirAll, but each new folder gets the owner of the folder above it, and its name
// is durable when MkdirAll returns. Without that a loss of power could take the folder away with
// all files in it, also those that were synced.
func MkdirAll(name string, perm os.FileMode) error {
	name = filepath.Clean(name)
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		return os.MkdirAll(name, perm) // which says what is wrong with it, if anything is
	}
	if err := MkdirAll(filepath.Dir(name), perm); err != nil {
		return err
	}
	if err := Mkdir(name, perm); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := syncFolder(filepath.Dir(name)); !errors.Is(err, os.ErrPermission) {
		return err
	}
	return nil // the folder above may be written, and not read
}

// syncFolder is replaced by tests.
var syncFolder = SyncFolder

// SyncFolder makes the names in a folder durable.
func SyncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// OpenFile is os.OpenFile, but a new file gets the owner of its folder.
//
// A file that is opened for writing must be a regular file with one name, and name must not be a
// symbolic link; otherwise the error is an *os.PathError and the file stays as it was. The folder
// may be a link. A file that is opened for reading may be anything. Nothing of this is checked on
// systems other than Unix.
func OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) == 0 {
		return os.OpenFile(name, flag, perm)
	}
	return openToWrite(filepath.Clean(name), flag, perm, true)
}

// OpenOwn is OpenFile for a file that is no part of a database, as a backup is not: a new one stays
// with the user who makes it. The owner of the folder must not be able to read it.
func OpenOwn(name string, flag int, perm os.FileMode) (*os.File, error) {
	return openToWrite(filepath.Clean(name), flag, perm, false)
}
