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

// openIn opens the file name in the folder dir for reading.
func openIn(dir *os.File, name string) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, errGone
	}
	return os.Open(path)
}
