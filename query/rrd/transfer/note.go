package transfer

import (
	"io/fs"
	"os"
	"strings"
)

// Note stands in files that are there for programs to see: they make a series anew when there is no file of its name. It is longer
// than the head of rrdtool's files, so that the original says of it that it is no RRD file, and not that its end is missing.
const Note = "The series of this name is kept by rondo. This file is here for programs that look whether there is one.\n" +
	"rondo info NAME prints the series, rondo rename and rondo drop move and delete it,\n" +
	"rondo export writes it as a file of rrdtool.\n"

// IsNote says whether a file of that name holds a Note and nothing else. info is that of the file.
func IsNote(name string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() || info.Size() != int64(len(Note)) {
		return false
	}
	b, err := os.ReadFile(name)
	return err == nil && string(b) == Note
}

// shown returns the name of the empty file that remembers that rondo has put a note at a path. It does not end in .rrd: import
// passes over it.
func shown(path string) string { return ".rondo/" + path + ".shown" }

// Sees says whether a program that makes the series of a path anew, in place of the one that is there, means it: there is a file
// for the path below a folder, or rondo has put one there and it has been removed, or there is no folder that it could be in.
// Where there never was a file, the program does not know that there is a series.
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

// Show puts a file with a Note where programs look for that of a path below a folder, if there is a folder for it, and no file.
// Failing to write the file is harmless: the program finds none, creates the series again, and the existing one is kept.
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
	_, _ = f.WriteString(Note) // an empty one does as well
	_ = f.Close()              // likewise

	name := shown(path)
	if err := root.MkdirAll(name[:strings.LastIndexByte(name, '/')], 0o755); err != nil {
		return
	}
	if f, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
		_ = f.Close() // nothing was written
	}
}

// Hide removes the file that Show has made for a path below a folder, and forgets that there was
// one. Any other file of that name stays.
func Hide(base, path string) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }() // as in Sees
	_ = root.Remove(shown(path))        // there need be none
	info, err := root.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(Note)) {
		return
	}
	if b, err := root.ReadFile(path); err == nil && string(b) == Note {
		_ = root.Remove(path) // a file that stays hides nothing: programs update the series anew
	}
}
