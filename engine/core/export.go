package core

import (
	"context"

	"github.com/rondo-db/rondo/rra"
)

// exportTries is how often Export reads a series that changes meanwhile before it holds writers back.
const exportTries = 20

// Export returns a whole series as it is at one moment.
func (s *Store) Export(ctx context.Context, ref Ref) (Copy, error) {
	if err := s.enter(); err != nil {
		return Copy{}, err
	}
	defer s.leave()
	for range exportTries {
		c, same, err := s.export(ctx, ref)
		if err != nil || same {
			return c, err
		}
	}
	s.pause()
	defer s.resume()
	s.settled(ref)
	c, _, err := s.export(ctx, ref)
	return c, err
}

// export reads a series, and says whether it has stayed the same meanwhile.
func (s *Store) export(ctx context.Context, ref Ref) (c Copy, same bool, err error) {
	info, err := s.Info(ref)
	if err != nil {
		return Copy{}, false, err
	}
	c = Copy{Path: info.Path, Labels: info.Labels, Definition: info.Definition, State: info.State}
	last := info.Machine.LastUpdate(info.State.W)
	c.last = last
	if c.Rows, err = s.exportRows(ctx, ref, info.Machine, last.Unix()); err != nil {
		return Copy{}, false, err
	}
	now, err := s.Last(ref)
	return c, now == last, err
}

func (s *Store) exportRows(ctx context.Context, ref Ref, m *rra.Machine, last int64) ([][]float64, error) {
	d := m.Definition()
	rows := make([][]float64, len(d.Archives))
	for id, st := range m.Streams() {
		span := st.PDPs * d.Step
		end := floorDiv(last, span) * span
		var longest Rows
		for _, i := range st.Archives {
			if d.Archives[i].Rows != st.Rows {
				continue
			}
			var err error
			if longest, err = s.Fetch(ctx, ref, i, end-st.Rows*span, end); err != nil {
				return nil, err
			}
			break
		}
		for i := range d.Archives {
			if m.StreamOf(i) == id {
				rows[i] = longest.Values[len(longest.Values)-int(d.Archives[i].Rows)*len(d.Sources):]
			}
		}
	}
	return rows, nil
}
