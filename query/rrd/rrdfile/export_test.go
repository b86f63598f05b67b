package rrdfile

import (
	"os"

	"github.com/rondo-db/rondo/rra"
)

// StreamRows returns the rows of a stream of m, the result of [File.Machine]: oldest first, with
// the values of all data sources side by side. The rows are part of f. last is the number of the
// newest row. Row k of a stream ends at k times its PDPs times the step.
func (f *File) StreamRows(m *rra.Machine, stream int) (rows []float64, last int64) {
	s := &m.Streams()[stream]
	longest := s.Archives[0]
	for _, i := range s.Archives {
		if f.Definition.Archives[i].Rows > f.Definition.Archives[longest].Rows {
			longest = i
		}
	}
	step := f.Step(longest)
	return f.State.Archives[longest].Rows, f.Newest(longest) / step
}

// Open reads a native file. The error is an *os.PathError, or an error of [Decode].
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRRD
	}
	return Read(f, info.Size())
}
