package rrdtool_test

import (
	"io"
	"io/fs"
	"path/filepath"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A folder is the files of a folder.
type folder struct {
	dir string
	rrdtool.OSFiles
}

func (f folder) Stat(name string) (fs.FileInfo, error) {
	return f.OSFiles.Stat(filepath.Join(f.dir, name))
}

func (f folder) Open(name string) (io.ReadCloser, error) {
	return f.OSFiles.Open(filepath.Join(f.dir, name))
}

func (f folder) Create(name string) (io.WriteCloser, error) {
	return f.OSFiles.Create(filepath.Join(f.dir, name))
}
