package core

import (
	"context"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
)

// exportTries is how often Export reads a series that changes meanwhile. After that it keeps
// writers from logging while it reads.
const exportTries = 20

// Export returns a whole series as it is at one moment. The error wraps ErrMemory if its rows, at 8
// bytes a value, do not fit into three quarters of the free budget.
func (s *Store) Export(ctx context.Context, ref Ref) (Copy, error) {
	if err := s.enter(); err != nil {
		return Copy{}, err
	}
	defer s.leave()
	reserved, err := s.admission.reserveCopy(ctx)
	if err != nil {
		return Copy{}, err
	}
	defer reserved.end()
	for range exportTries {
		c, same, err := s.export(ctx, ref, reserved)
		if err != nil || same {
			return c, err
		}
	}
	s.appender.pause()
	defer s.appender.resume()
	c, _, err := s.export(ctx, ref, reserved)
	return c, err
}

// export reads a series, and reports whether the series stayed the same meanwhile. reserved then
// holds the memory of the copy, instead of the memory that it held before.
func (s *Store) export(ctx context.Context, ref Ref, reserved *reservation) (c Copy, same bool, err error) {
	reserved.end()
	info, err := s.Info(ref)
	if err != nil {
		return Copy{}, false, err
	}
	c = Copy{Path: info.Path, Labels: info.Labels, Definition: info.Definition, State: info.State}
	last := info.Machine.LastUpdate(info.State.W)
	c.last = last
	if c.Rows, err = s.exportRows(ctx, ref, info.Machine, last.Unix(), reserved); err != nil {
		return Copy{}, false, err
	}
	now, err := s.Last(ref)
	return c, now == last, err
}

func (s *Store) exportRows(ctx context.Context, ref Ref, m *rra.Machine, last int64, reserved *reservation) ([][]float64, error) {
	d := m.Definition()
	size := int64(0) // counts all rows: the reader of the copy may fill in unknown rows
	for i := range d.Archives {
		size += 8 * d.Archives[i].Rows * int64(len(d.Sources))
	}
	if err := reserved.grow(size); err != nil {
		return nil, err
	}
	rows := make([][]float64, len(d.Archives))
	for id, st := range m.Streams() {
		span := st.PDPs * d.Step
		end := rowblock.FloorDiv(last, span) * span
		var longest []float64
		for _, i := range st.Archives {
			if d.Archives[i].Rows != st.Rows {
				continue
			}
			var err error
			if longest, err = s.exportArchive(ctx, ref, i, end-st.Rows*span, end, span, len(d.Sources)); err != nil {
				return nil, err
			}
			break
		}
		for i := range d.Archives {
			if m.StreamOf(i) == id {
				rows[i] = longest[max(len(longest)-int(d.Archives[i].Rows)*len(d.Sources), 0):]
			}
		}
	}
	return rows, nil
}

// exportPiece is how many values of an archive are read at once.
const exportPiece = 1 << 20

// exportArchive reads the rows of one archive, in pieces. It leaves out the pieces at the front
// that have no known row.
func (s *Store) exportArchive(ctx context.Context, ref Ref, archive int, start, end, span int64, sources int) ([]float64, error) {
	var out []float64
	rows := max(exportPiece/int64(sources), 1)
	for from := start; from < end; from += rows * span {
		to := min(from+rows*span, end)
		err := s.FetchMany(ctx, []Ref{ref}, archive, from, to, func(_ int, r *Rows, e error) {
			if e != nil || len(out) == 0 && !slices.ContainsFunc(r.Values, func(v float64) bool { return v == v }) {
				return
			}
			if len(out) == 0 { // all that follows is known by now
				out = make([]float64, 0, (end-from)/span*int64(sources))
			}
			out = append(out, r.Values...)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
