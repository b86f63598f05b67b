package transfer

import (
	"io/fs"
	"os"
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
