//go:build !unix

package rrdd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The flags are for systems with links and FIFOs.
const (
	openFlags   = 0
	folderFlags = 0
)

// openPlain opens the regular file name in the folder dir, and returns its size.
func openPlain(dir *os.File, name string) (f plainFile, size int64, err error) {
	path := filepath.Join(dir.Name(), name)
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !named.Mode().IsRegular() {
		return f, 0, errGone
	}
	if err != nil {
		return f, 0, err
	}
	o, err := os.Open(path)
	if err != nil {
		return f, 0, err
	}
	info, err := o.Stat()
	if err == nil && !os.SameFile(info, named) {
		err = errGone
	}
	if err != nil {
		_ = o.Close() // nothing was written
		return f, 0, err
	}
	return plainFile{o}, info.Size(), nil
}

// A plainFile is a file that is open for reading.
type plainFile struct{ *os.File }

func (f plainFile) close() { _ = f.Close() } // nothing was written
