package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// An Item is a file to be imported.
type Item struct {
	Index int    // not used by Import; the result carries it back to the caller
	Path  string // path of the series
	Name  string // name of the file
	Data  []byte // content of the file; nil: Import reads the file
	// Labels are further labels of this series. Where the options have a label of the same name,
	// theirs counts.
	Labels []core.Label
	// File, if not nil, is the open file; Name is then used in messages only. Import closes File.
	File *os.File
}

// MaxFile is the size of the largest file that is imported, in bytes.
const MaxFile = 1 << 30

// A content is the content of a file that is imported.
type content interface {
	io.ReaderAt
	io.Closer
}

// memory is a content in memory.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// open returns the content of an item's file, and its size in bytes.
func (item *Item) open() (content, int64, error) {
	if item.File != nil {
		return opened(item.File)
	}
	if item.Data == nil {
		return OpenFile(item.Name)
	}
	return memory{bytes.NewReader(item.Data)}, int64(len(item.Data)), nil
}

// opened returns an open file and its size in bytes. It closes a file that cannot be imported.
func opened(f *os.File) (*os.File, int64, error) {
	size, err := importable(f.Stat())
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, 0, err
	}
	return f, size, nil
}

// OpenFile opens a file that is to be imported and returns its size in bytes. It refuses everything
// but regular files, so it does not block on a named pipe. The error does not contain the name.
func OpenFile(name string) (f *os.File, size int64, err error) {
	if size, err = importable(os.Stat(name)); err != nil {
		return nil, 0, err
	}
	f, err = os.Open(name)
	return f, size, unnamed(err)
}

// importable returns the size in bytes of a file that can be imported, from the results of Stat.
func importable(info fs.FileInfo, err error) (size int64, _ error) {
	switch {
	case err != nil:
		return 0, unnamed(err)
	case !info.Mode().IsRegular():
		return 0, errors.New("not a regular file")
	case info.Size() > MaxFile:
		return 0, fmt.Errorf("%d bytes, more than the %d of the largest file", info.Size(), int64(MaxFile))
	}
	return info.Size(), nil
}

// unnamed returns an error of the file system without the file's name, which the caller prints
// itself.
func unnamed(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// stillTries is how often a file that changes while it is read is read again.
const stillTries = 3

var errChanging = errors.New("changes while it is read")

// decodeStill is decodeFrom for a file that must not change while it is read. It compares the
// file's size and time of modification before and after.
func decodeStill(in content, size int64, r *rrdfile.Reader) (*rrdfile.File, error) {
	file, ok := in.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return decodeFrom(in, size, r)
	}
	before, err := file.Stat()
	for range stillTries {
		if err != nil {
			return nil, unnamed(err)
		}
		f, decodeErr := decodeFrom(in, min(before.Size(), size), r)
		var after fs.FileInfo
		after, err = file.Stat()
		if err == nil && after.ModTime().Equal(before.ModTime()) && after.Size() == before.Size() {
			return f, decodeErr
		}
		before = after
	}
	return nil, errChanging
}

func decodeFrom(in content, size int64, r *rrdfile.Reader) (*rrdfile.File, error) {
	head := make([]byte, min(size, rrdfile.ForeignBytes))
	if _, err := in.ReadAt(head, 0); err != nil && len(head) > 0 {
		return nil, unnamed(err)
	}
	if IsNative(head) {
		f, err := r.Read(in, size)
		return f, unnamed(err)
	}
	if rrdfile.IsWhisper(head) {
		f, err := readWhisper(in, size, r.Room)
		return f, unnamed(err)
	}
	if what := rrdfile.Foreign(head); what != "" {
		return nil, fmt.Errorf("not a file of rrdtool; it is %s", what)
	}
	return decodeXML(io.NewSectionReader(in, 0, size))
}
