package transfer

import (
	"io/fs"
	"os"
	"strings"
)

// Note is the text of the files that rondo leaves for programs to see. Some programs create a
// series again whenever they find no file of its name; the file keeps them from doing so. The text
// is longer than the header of rrdtool's files: rrdtool then reports that the file is no RRD file,
// not that the file ends too early.
const Note = "The series of this name is kept by rondo. This file is here for programs that look whether there is one.\n" +
	"rondo info NAME prints the series, rondo rename and rondo drop move and delete it,\n" +
	"rondo export writes it as a file of rrdtool.\n"

// IsNote reports whether the named file holds a Note and nothing else. info describes that file.
func IsNote(name string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() || info.Size() != int64(len(Note)) {
		return false
	}
	b, err := os.ReadFile(name)
	return err == nil && string(b) == Note
}

// shown returns the name of the empty file that remembers that rondo has put a note at a path. It
// does not end in .rrd: import passes over it.
func shown(path string) string { return ".rondo/" + path + ".shown" }

// Sees reports whether a program that creates the series of a path again knows that one exists. It
// does if base holds a file for the path, if rondo has put a file there and somebody has removed
// it, or if the path's folder does not exist, so that no file could show the series.
func Sees(base, path string) bool {
	root, err := os.OpenRoot(base)
	if err != nil {
		return true
	}
	defer func() { _ = root.Close() }() // nothing was written
	for _, name := range []string{path, shown(path)} {
		if _, err := root.Lstat(name); err == nil {
			return true
		}
	}
	i := strings.LastIndexByte(path, '/')
	info, err := root.Stat("./" + path[:max(i, 0)])
	return err != nil || !info.IsDir()
}

// Show writes a file with a Note where programs look for the file of a path, below base. It does
// nothing if the file exists or its folder does not. Failing to write the file is harmless: the
// program finds none, creates the series again, and the existing one is kept.
func Show(base, path string) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }() // as in Sees
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return
	}
	_, _ = f.WriteString(Note) // an empty file does as well
	_ = f.Close()              // likewise

	name := shown(path)
	if err := root.MkdirAll(name[:strings.LastIndexByte(name, '/')], 0o755); err != nil {
		return
	}
	if f, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
		_ = f.Close() // nothing was written
	}
}

// Hide removes the file that Show has made for a path below base, and the mark that Show has made
// one. It leaves any other file of that name alone.
func Hide(base, path string) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }() // as in Sees
	_ = root.Remove(shown(path))        // the mark may be missing
	info, err := root.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(Note)) {
		return
	}
	if b, err := root.ReadFile(path); err == nil && string(b) == Note {
		_ = root.Remove(path) // if the file stays, programs update the series and thereby create it again
	}
}
