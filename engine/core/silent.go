package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/rra"
)

// silentChunk is how many drops are on their way to the log at a time.
const silentChunk = 256

// DropSilent drops those series of paths that have had no sample after the time before, with their
// metadata, and returns how many. One whose samples are on their way stays.
func (s *Store) DropSilent(ctx context.Context, paths []string, before rra.Time) (n int, err error) {
	for len(paths) > 0 && err == nil {
		k := min(len(paths), silentChunk)
		var some int
		some, err = s.dropSilent(ctx, paths[:k], before)
		n, paths = n+some, paths[k:]
	}
	return n, err
}

func (s *Store) dropSilent(ctx context.Context, paths []string, before rra.Time) (n int, err error) {
	tickets := make([]Ticket, len(paths))
	outcomes := make([]error, len(paths))
	var under []int // the paths on their way
	for i, path := range paths {
		key, _, e := cleanPath(path)
		if e != nil {
			continue // no series has it
		}
		queued, e := s.enqueueSilent(ctx, &tickets[i], &outcomes[i], key, before)
		if e != nil {
			err = fmt.Errorf("drop %q: %w", path, e)
			break
		}
		if queued {
			under = append(under, i)
		}
	}
	for _, i := range under {
		switch e := tickets[i].Wait(); {
		case e != nil:
			err = errors.Join(err, e)
		case outcomes[i] == nil:
			n++
		}
	}
	return n, err
}

// enqueueSilent logs the drop of a series that is silent. Nothing can come between the look at it and
// its place in the log.
func (s *Store) enqueueSilent(ctx context.Context, t *Ticket, outcome *error, key string, before rra.Time) (bool, error) {
	if err := s.enterWrite(); err != nil {
		return false, err
	}
	if err := s.admit(ctx); err != nil {
		s.leave()
		return false, err
	}
	t.reset(s)
	t.op = &op{rec: appendString([]byte{recordDrop}, key), apply: func(t *Ticket) { *outcome = s.applyDrop(t, key) }}
	s.lockLog()
	silent, err := s.silent(key, before)
	if silent && err == nil {
		err = s.enqueue(t, t.op.rec)
	}
	s.logMu.Unlock()
	if err != nil || !silent {
		s.leave()
		return false, err
	}
	return true, nil
}

// silent reports whether a series has had no sample after the time before. The caller holds logMu.
func (s *Store) silent(key string, before rra.Time) (silent bool, err error) {
	ref, err := s.lookup(key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = s.withSeries(ref, func(g *group, index int) {
		at := s.definition(g.defs[index]).m.LastUpdate(g.words[index*g.c.words : (index+1)*g.c.words])
		held := g.held[index] != nil
		silent = at <= before && !held && g.inflight.Load() == 0
	})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) { // a drop is on its way; or when it was last updated cannot be told
		return false, nil
	}
	return silent, err
}
