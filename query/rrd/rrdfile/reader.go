package rrdfile

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/rondo-db/rondo/rra"
)

// Read reads a native file of size bytes.
func Read(r io.ReaderAt, size int64) (*File, error) { return new(Reader).Read(r, size) }

// Decode reads a native file from memory. Nothing of b is kept. The error is [ErrNotRRD], a
// [*VersionError] or a [*FormatError].
func Decode(b []byte) (*File, error) { return new(Reader).Decode(b) }

// LastUpdate returns the last update of a native file, which b is the whole of. The error is that
// of [Decode].
func LastUpdate(b []byte) (rra.Time, error) {
	d := decoder{b: b, size: int64(len(b))}
	err := d.head()
	if err == nil {
		d.room()
		err = d.definition()
	}
	if err == nil {
		err = d.settleSize()
	}
	if err == nil {
		err = d.live()
	}
	if err != nil {
		return 0, err
	}
	return d.f.State.LastUpdate, nil
}

// A Reader reads one native file after another, and uses its memory again. The zero value is ready.
// One goroutine may use it at a time.
type Reader struct {
	// Room is where the rows of the next file are put, if its capacity is enough for them.
	Room []float64

	buf []byte
}

// The start of a file is read in a piece of headBytes, which most headers fit in; rows are read in
// pieces of rowBytes.
const (
	headBytes = 8 << 10
	rowBytes  = 256 << 10
)

// Read is the function [Read].
func (x *Reader) Read(r io.ReaderAt, size int64) (*File, error) {
	if size > maxSize {
		return nil, &FormatError{0, "size", fmt.Sprintf("%d bytes, more than %d", size, int64(maxSize))}
	}
	if len(x.buf) < rowBytes {
		x.buf = make([]byte, rowBytes)
	}
	if size <= rowBytes {
		b := x.buf[:size]
		if err := readFull(r, b, 0); err != nil {
			return nil, err
		}
		return x.Decode(b)
	}
	b := x.buf[:headBytes]
	if err := readFull(r, b, 0); err != nil {
		return nil, err
	}
	d := decoder{b: b, size: size, in: r, buf: x.buf, free: x.Room}
	if err := d.head(); err != nil {
		return nil, err
	}
	// A longer header is read once its beginning says that it is one, and so long.
	if n := d.headerSize(d.f.Version, int64(d.sources), int64(d.archives)) + 8; n > headBytes {
		d.b = make([]byte, min(n, size))
		if err := readFull(r, d.b, 0); err != nil {
			return nil, err
		}
	} else {
		d.b = bytes.Clone(b) // the buffer takes rows
	}
	return d.decode()
}

// Decode is the function [Decode].
func (x *Reader) Decode(b []byte) (*File, error) {
	d := decoder{b: b, size: int64(len(b)), free: x.Room}
	if err := d.head(); err != nil {
		return nil, err
	}
	return d.decode()
}

// readFull fills b from what stands at an offset.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// Open reads a native file. The error is an *os.PathError, or one of [Decode].
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRRD
	}
	return Read(f, info.Size())
}

// maxSize is the largest native file that is read.
const maxSize = math.MaxInt32
