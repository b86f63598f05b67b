// Package owner opens what a store writes, and makes its folders, in a folder whose owner need not
// be trusted.
//
// A database belongs to the user that rondo serve runs as. A command that root runs beside the
// stopped server makes files there, too: a segment of the log, a repaired database. Were they
// root's, the server could not start any more. So each new file and folder gets the owner and the
// group of the folder that it is made in. For every other user than root, and where the system has
// no such owners, nothing is given away.
//
// The owner of the folder may put links there that lead to files of root's, and may swap folders
// for links while root works. So a file that is written is no link and has no second name, and what
// root makes is made and given away below one open folder: no name is looked up twice.
package owner

import (
	"errors"
	"os"
	"path/filepath"
)

// What a file that OpenFile opened may not be.
var (
	errLink    = errors.New("it is a symbolic link, and rondo writes only files in the folder itself: link the folder instead")
	errNames   = errors.New("the file has a second name (a hard link), through which rondo would change another file: put a copy in its place")
	errRegular = errors.New("it is not a regular file")
)

// Mkdir is os.Mkdir. The folder has the owner of the one above it.
func Mkdir(name string, perm os.FileMode) error { return mkdir(filepath.Clean(name), perm) }

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
//
// A file that is opened to be written must be a regular file with one name, and name must not be a
// symbolic link; otherwise the error is an *os.PathError and the file is left as it was. The folder
// may be a link. A file that is only read may be anything. (Where the system is no Unix, nothing of
// this is checked.)
func OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) == 0 {
		return os.OpenFile(name, flag, perm)
	}
	return openToWrite(filepath.Clean(name), flag, perm)
}
