package rrdfile

import (
	"fmt"
	"io"
)

// A decoder reads a file piece by piece.
type decoder struct {
	layout
	b    []byte
	size int64 // of the file; b may be its start
	at   int
	free []float64   // for the rows
	in   io.ReaderAt // where rows are read from, through buf; nil: b is the whole file
	buf  []byte

	sources, archives int
	values            int64 // in all archives
	f                 *File
}

func (d *decoder) fail(at int, field, format string, args ...any) error {
	return &FormatError{int64(at), field, fmt.Sprintf(format, args...)}
}
