package rrdtool

import (
	"io"
	"io/fs"
	"os"
)

// Files are the files of the caller: those that restore reads and dump writes, and native files
// that verbs read in place of a series.
type Files interface {
	Readable
	Create(name string) (io.WriteCloser, error)
}

// Readable are files that can be opened for reading.
type Readable interface {
	Stat(name string) (fs.FileInfo, error)
	Open(name string) (io.ReadCloser, error)
}

// OSFiles are the files of this process.
type OSFiles struct{}

// Stat is os.Stat.
func (OSFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Open is os.Open.
func (OSFiles) Open(name string) (io.ReadCloser, error) { return os.Open(name) }

// Create is os.Create.
func (OSFiles) Create(name string) (io.WriteCloser, error) { return os.Create(name) }
