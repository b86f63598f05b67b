package core

import (
	"context"
	"errors"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// Info returns a series and a copy of its state.
func (s *Store) Info(ref Ref) (Info, error) {
	if err := s.enter(); err != nil {
		return Info{}, err
	}
	defer s.leave()
	rec, err := s.catalogue.record(ref)
	if err != nil {
		return Info{}, err
	}
	info := Info{Series: s.catalogue.seriesOf(ref, rec)}
	err = s.withSeries(ref, func(g *group, index int) {
		st := g.state(index)
		info.State = rra.State{W: slices.Clone(st.W), Text: slices.Clone(st.Text)}
		info.Machine = g.definition(index).m
	})
	return info, err
}

// Last returns the time of the last update of a series.
func (s *Store) Last(ref Ref) (at rra.Time, err error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	if s.catalogue.removed(ref) {
		return 0, notFound(ref)
	}
	err = s.withSeries(ref, func(g *group, index int) {
		at = g.lastUpdate(index)
	})
	return at, err
}

// withSeries calls fn with the loaded group of a living series, locked.
func (s *Store) withSeries(ref Ref, fn func(g *group, index int)) error {
	c := s.catalogue.class(ref.class())
	var g *group
	if c != nil {
		g = c.group(ref.number())
	}
	if g == nil {
		return notFound(ref)
	}
	if err := s.loader.lockGroup(g); err != nil {
		return err
	}
	index := c.index(ref.number())
	err := g.usable(index)
	if err == nil {
		fn(g, index)
	}
	g.mu.Unlock()
	return s.withPath(ref, err)
}

// A LastTime is the time of the last update of a series.
type LastTime struct {
	Time  rra.Time
	There bool // the series exists
}

// Lasts returns the times of the last updates of series, in the order of refs. The error is ctx's,
// or one of Last, but for a series that does not exist.
func (s *Store) Lasts(ctx context.Context, refs []Ref) ([]LastTime, error) {
	out := make([]LastTime, len(refs))
	for i, ref := range refs {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at, err := s.Last(ref)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		out[i] = LastTime{at, err == nil}
	}
	return out, nil
}
