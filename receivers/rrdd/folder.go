package rrdd

import (
	"errors"
	"io"
	"os"
)

// A folder is the plugins' folder, opened for one turn. It is opened again in each turn, because
// another folder may have its name by then.
type folder struct{ *os.File }

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

// listed is how many names are read at a time.
const listed = 256

// names calls f with the name of each regular file, except those that begin with ".". It looks at
// about most names of any kind, and reports whether there are more.
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

// open opens the regular file name in the folder for reading, and returns its size. If there is no
// such file, or name is something else, the error is errGone.
func (d *folder) open(name string) (*os.File, int64, error) {
	f, err := openIn(d.File, name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errGone
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, 0, err
	}
	return f, info.Size(), nil
}
