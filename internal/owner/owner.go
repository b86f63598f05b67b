// Package owner keeps what root makes in somebody's folder usable by that somebody.
//
// A database belongs to the user that rondo serve runs as. A command that root runs beside the stopped server makes
// files there, too: a segment of the log, a repaired database. Were they root's, the server could not start any more.
// So each new file and folder gets the owner and the group of the folder that it is made in. For every other user than
// root, and where the system has no such owners, nothing is done.
package owner

import (
	"errors"
	"os"
	"path/filepath"
)

// Mkdir is os.Mkdir. The folder has the owner of the one above it.
func Mkdir(name string, perm os.FileMode) error {
	if err := os.Mkdir(name, perm); err != nil {
		return err
	}
	inheritFolder(name)
	return nil
}

// MkdirAll is os.MkdirAll. Each folder that it makes has the owner of the one above it.
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
	return nil
}

// OpenFile is os.OpenFile. A file that it makes has the owner of its folder.
func OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err == nil && flag&os.O_CREATE != 0 {
		inherit(f, name)
	}
	return f, err
}
