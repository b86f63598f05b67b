package rrdd

import (
	"errors"
	"io"
	"os"
)

// A folder is the plugins' folder, opened for one turn: it may be replaced meanwhile.
type folder struct{ *os.File }

// errGone is the error of a name that is no regular file, or no longer.
var errGone = errors.New("no such plugin file")

func openFolder(name string) (*folder, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|folderFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: name, Err: errors.New("no folder")}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return &folder{f}, nil
}

const listed = 256 // names read at a time

// names calls f with each regular file's name. Names that begin with "." are left out. It looks at
// most names of any kind, about, and reports whether there are more.
func (d *folder) names(most int, f func(name string)) (more bool, err error) {
	for n := 0; n < most; {
		entries, err := d.ReadDir(listed)
		for _, e := range entries {
			if e.Name()[0] != '.' && e.Type().IsRegular() {
				f(e.Name())
			}
		}
		if n += len(entries); err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
