package transfer

import (
	"io/fs"
	"os"
	"strings"
)

// Note stands in files that are there for programs to see: they make a series anew when there is no file of its name.
const Note = "The series of this name is kept by rondo.\n"

// IsNote says whether a file of that name holds a Note and nothing else. info is that of the file.
func IsNote(name string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() || info.Size() != int64(len(Note)) {
		return false
	}
	b, err := os.ReadFile(name)
	return err == nil && string(b) == Note
}

// Sees says whether there is a file for a path below a folder, or no folder that it could be in.
func Sees(base, path string) bool {
	root, err := os.OpenRoot(base)
	if err != nil {
		return true
	}
	defer func() { _ = root.Close() }() // nothing was written
	if _, err := root.Lstat(path); err == nil {
		return true
	}
	i := strings.LastIndexByte(path, '/')
	info, err := root.Stat("./" + path[:max(i, 0)])
	return err != nil || !info.IsDir()
}

// Show puts a file with a Note where programs look for that of a path below a folder, if there is a folder for it, and no file. That it cannot
// be is as it was with no file: the program makes the series again, and it is kept.
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
}

// Hide removes the file that Show has made for a path below a folder. Any other file of that name
// stays.
func Hide(base, path string) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }() // as in Sees
	info, err := root.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(Note)) {
		return
	}
	if b, err := root.ReadFile(path); err == nil && string(b) == Note {
		_ = root.Remove(path) // a file that stays hides nothing: programs update the series anew
	}
}
