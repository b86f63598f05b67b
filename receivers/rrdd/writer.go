package rrdd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rondo-db/rondo/internal/replace"
)

// A Writer keeps the file of one plugin. One goroutine at a time may use it.
type Writer struct {
	// Path is the path of the file. Its last part is the plugin's name. A name that begins with "."
	// is refused, because readers ignore it.
	Path string
	// Atomic makes each Write replace the file with a new one, so that no reader sees it half
	// written. Otherwise Write changes the file in place, as the real plugins do: first the values,
	// then the header with their checksums, by which a reader recognises a half-written file. The
	// real daemon keeps the file open, and sees only what is written in place.
	Atomic bool

	file *os.File
	buf  []byte
}

// Write writes f. It creates the file if there is none. A file that is changed in place never
// becomes shorter.
func (w *Writer) Write(f *File) error {
	name := filepath.Base(w.Path)
	if w.Path == "" || strings.HasPrefix(name, ".") || name == string(filepath.Separator) {
		return fmt.Errorf("plugin file %q: readers pass over such a name", w.Path)
	}
	b, err := f.Append(w.buf[:0])
	if err != nil {
		return fmt.Errorf("plugin file %s: %w", w.Path, err)
	}
	w.buf = b
	if w.Atomic {
		return w.replace(b)
	}
	return w.rewrite(b)
}

// replace writes a file whose name readers ignore, and renames it.
func (w *Writer) replace(b []byte) error {
	dir, name := filepath.Split(w.Path)
	if dir == "" {
		dir = "."
	}
	if err := replace.Check(w.Path); err != nil {
		return err
	}
	t, err := os.CreateTemp(dir, "."+name+"-")
	if err != nil {
		return err
	}
	_, err = t.Write(b)
	if err == nil {
		err = t.Chmod(filePerm)
	}
	if e := t.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(t.Name(), w.Path)
	}
	if err != nil {
		_ = os.Remove(t.Name()) // the first error counts
	}
	return err
}

const filePerm = 0o644 // the daemon that reads may be another user

// rewrite writes b into the file in place. It also writes metadata that has not changed, because
// another writer may have changed the file.
func (w *Writer) rewrite(b []byte) error {
	if err := w.open(); err != nil {
		return err
	}
	head := v2Time
	if isV1(b) {
		head = v1Text
	}
	if _, err := w.file.WriteAt(b[head:], int64(head)); err != nil {
		return err
	}
	_, err := w.file.WriteAt(b[:head], 0)
	return err
}

// open opens the file, if it is not open or another file has its name by now.
func (w *Writer) open() error {
	if w.file != nil {
		mine, err := w.file.Stat()
		if err == nil {
			if named, err := os.Lstat(w.Path); err == nil && os.SameFile(mine, named) {
				return nil
			}
		}
		_ = w.Close() // it is nobody's file any more
	}
	file, err := os.OpenFile(w.Path, os.O_RDWR|os.O_CREATE|openFlags, filePerm)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("plugin file %s is no regular file", w.Path)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	w.file = file
	return nil
}

// Close closes the file, which stays. Removing it is how a plugin says that it is gone.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}
