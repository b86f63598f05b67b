package transfer

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// ErrReadOnly says that a [Single] cannot be changed.
var ErrReadOnly = fmt.Errorf("a file is only read: %w", core.ErrReadOnly)

// A Single is a read-only store with one series, read from a file.
type Single struct {
	f *rrdfile.File
	m *rra.Machine
	c core.Copy
}

// singleRef is the reference of the only series.
const singleRef core.Ref = 1

// NewSingle returns a store with the series of f under a path. It returns the error of [CopyOf].
func NewSingle(path string, f *rrdfile.File) (*Single, error) {
	c, m, err := copyOf(path, f)
	if err != nil {
		return nil, err
	}
	return &Single{f, m, c}, nil
}

// File returns the file.
func (s *Single) File() *rrdfile.File { return s.f }

// Lookup returns the reference of a path. The error is core.ErrNotFound for any path but the one
// given to NewSingle.
func (s *Single) Lookup(path string) (core.Ref, error) {
	if path != s.c.Path {
		return 0, core.ErrNotFound
	}
	return singleRef, nil
}

// Series returns the definition.
func (s *Single) Series(ref core.Ref) (core.Series, error) {
	if ref != singleRef {
		return core.Series{}, core.ErrNotFound
	}
	return core.Series{Ref: ref, Path: s.c.Path, Definition: s.c.Definition}, nil
}

// Info returns the definition and the state.
func (s *Single) Info(ref core.Ref) (core.Info, error) {
	series, err := s.Series(ref)
	if err != nil {
		return core.Info{}, err
	}
	return core.Info{Series: series, Machine: s.m, State: s.c.State.Clone()}, nil
}

// Last returns the time of the last update.
func (s *Single) Last(ref core.Ref) (rra.Time, error) {
	_, err := s.Series(ref)
	return s.f.State.LastUpdate, err
}

// Fetch returns the rows of an archive that end in (start, end].
func (s *Single) Fetch(_ context.Context, ref core.Ref, archive int, start, end int64) (core.Rows, error) {
	if ref != singleRef || archive < 0 || archive >= len(s.f.State.Archives) {
		return core.Rows{}, core.ErrNotFound
	}
	sources := len(s.c.Definition.Sources)
	out := core.Rows{Start: start, End: end, Step: s.f.Step(archive), DS: rra.SourceNames(s.c.Definition.Sources)}
	rows := s.f.State.Archives[archive].Rows
	oldest := s.f.Newest(archive) - int64(len(rows)/sources-1)*out.Step
	out.Values = make([]float64, 0, int((end-start)/out.Step)*sources)
	for t := start + out.Step; t <= end; t += out.Step {
		i := (t - oldest) / out.Step * int64(sources)
		if t < oldest || i >= int64(len(rows)) {
			for range sources {
				out.Values = append(out.Values, math.NaN())
			}
			continue
		}
		out.Values = append(out.Values, rows[i:i+int64(sources)]...)
	}
	return out, nil
}

// Select returns the series, if its path begins with the query's prefix and sorts after After.
func (s *Single) Select(_ context.Context, q core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		if p := s.c.Path; strings.HasPrefix(p, q.Prefix) && p > q.After {
			yield(s.Series(singleRef))
		}
	}
}

// Export returns the whole series. The copy shares its rows with s.
func (s *Single) Export(_ context.Context, ref core.Ref) (core.Copy, error) {
	if ref != singleRef {
		return core.Copy{}, core.ErrNotFound
	}
	c := s.c
	c.State = c.State.Clone()
	return c, nil
}

// Create returns ErrReadOnly.
func (*Single) Create(context.Context, core.Spec) (core.Ref, error) { return 0, ErrReadOnly }

// Update returns ErrReadOnly.
func (*Single) Update(context.Context, core.Ref, *core.Batch) (int, error) {
	return 0, ErrReadOnly
}

// Alter returns ErrReadOnly.
func (*Single) Alter(context.Context, string, func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	return 0, ErrReadOnly
}
