package rrdfile

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/rondo-db/rondo/rra"
)

// Read reads a native file of size bytes. The error is an error of r or of [Decode].
func Read(r io.ReaderAt, size int64) (*File, error) { return new(Reader).Read(r, size) }

// Decode reads a native file from memory. It keeps no part of b. The error is [ErrNotRRD], a
// [*VersionError] or a [*FormatError].
func Decode(b []byte) (*File, error) { return new(Reader).Decode(b) }

// LastUpdate returns the time of the last update in a native file. b must be the whole file. It
// returns the errors of [Decode].
func LastUpdate(b []byte) (rra.Time, error) {
	d := decoder{b: b, size: int64(len(b))}
	if err := d.run(d.head, d.definition, d.checkSize, d.live); err != nil {
		return 0, err
	}
	return d.f.State.LastUpdate, nil
}

// A Reader reads one native file after another and reuses its memory. The zero value is ready for
// use. Only one goroutine may use it at a time.
type Reader struct {
	// Room is the memory for the rows of the next file, if its capacity is large enough.
	Room []float64

	buf []byte
}

// The beginning of a file is read in a piece of headBytes, in which most headers fit. Rows are read
// in pieces of rowBytes.
const (
	headBytes = 8 << 10
	rowBytes  = 256 << 10
)

// Read is the function [Read].
func (x *Reader) Read(r io.ReaderAt, size int64) (*File, error) {
	if size > maxSize {
		return nil, &FormatError{0, "size", fmt.Sprintf("%d bytes, more than %d", size, int64(maxSize))}
	}
	if n := int(min(size, rowBytes)); len(x.buf) < n {
		x.buf = make([]byte, n)
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
	// A longer header is read only after its head has been checked.
	if n := d.headerSize(d.f.Version, int64(d.sources), int64(d.archives)) + 8; n > headBytes {
		d.b = make([]byte, min(n, size))
		if err := readFull(r, d.b, 0); err != nil {
			return nil, err
		}
	} else {
		d.b = bytes.Clone(b) // the buffer is needed for rows
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

// maxSize is the size of the largest native file that is read, in bytes.
const maxSize = math.MaxInt32
