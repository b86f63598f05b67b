package rrdfile

import (
	"fmt"
	"io"
)

// A decoder reads a native file from front to back.
type decoder struct {
	layout
	b    []byte      // the whole file, or its header
	size int64       // bytes of the whole file
	at   int         // offset of the next field
	free []float64   // memory for the rows
	in   io.ReaderAt // where rows are read from, through buf; nil: b is the whole file
	buf  []byte

	sources, archives int
	values            int64 // values in all archives
	f                 *File
}

func (d *decoder) fail(at int, field, format string, args ...any) error {
	return &FormatError{int64(at), field, fmt.Sprintf(format, args...)}
}

// readFull fills b from offset at.
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
