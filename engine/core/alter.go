package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/rra"
)

// Flush lets go the samples that the reorder window holds of some series, and returns once that is
// durable. What is not a series any more, or cannot be read, is passed over.
func (s *Store) Flush(ctx context.Context, refs []Ref) error {
	if err := s.enterWrite(); err != nil {
		return err
	}
	if err := s.admit(ctx); err != nil {
		s.leave()
		return err
	}
	return s.flushHeld(refs, s.lockLog)
}

// flushHeld is Flush without a wait for room. The call is counted, and leaves. lock takes logMu.
func (s *Store) flushHeld(refs []Ref, lock func()) error {
	rec := []byte{recordSamples}
	var do []groupOp
	for _, ref := range refs {
		held := false
		err := s.withSeries(ref, func(g *group, index int) { held = g.held[index] != nil || g.inflight.Load() > 0 })
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDamaged) {
			s.leave()
			return err
		}
		if !held {
			continue
		}
		c := s.class(ref.class())
		g, index := c.group(ref.number()), c.index(ref.number())
		rec = binary.AppendUvarint(rec, uint64(c.id)<<2|runFlush)
		rec = binary.AppendUvarint(rec, uint64(g.id))
		rec = appendTime(rec, 0, 0)
		at := len(rec)
		rec = binary.AppendUvarint(append(rec, 0, 0, 0), uint64(index))
		putLength(rec[at:])
		do = append(do, groupOp{g, func(sh *shard, g *group) { s.release(sh, g, index) }, 0})
	}
	if len(do) == 0 {
		s.leave()
		return nil
	}
	return s.changeNow(rec, func(t *Ticket) error { t.op.do = do; return nil }, lock)
}

// alterTries is how often Alter starts anew because the series has changed meanwhile, before it holds writers back.
const alterTries = 10

// Alter puts what change makes of a series in its place: with another definition, state and rows, or labels. Samples that
// arrive meanwhile are neither lost nor out of order: change is called again for the series that has them, any number of
// times. The path stays, the reference is a new one. An error of change ends it and is returned as it is.
func (s *Store) Alter(ctx context.Context, path string, change func(Copy) (Copy, error)) (Ref, error) {
	for try := 0; ; try++ {
		if err := s.enterWrite(); err != nil {
			return 0, err
		}
		ref, err := s.tryAlter(ctx, path, change, try >= alterTries)
		s.leave()
		if !errors.Is(err, errReplaced) {
			return ref, err
		}
	}
}

// tryAlter is one try, which ends with errReplaced if the series has changed meanwhile. With hold nobody else logs meanwhile.
func (s *Store) tryAlter(ctx context.Context, path string, change func(Copy) (Copy, error), hold bool) (Ref, error) {
	if err := s.admit(ctx); err != nil {
		return 0, err
	}
	lock := s.lockLog
	if hold {
		lock = s.lockLogAnyway
		s.pause()
		defer s.resume()
	}
	key, _, err := cleanPath(path)
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	ref, err := s.lookup(key)
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	if hold {
		s.settled(ref)
	}
	s.users.Add(1) // flushHeld leaves
	if err := s.flushHeld([]Ref{ref}, lock); err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	c, _, err := s.export(ctx, ref)
	if errors.Is(err, ErrNotFound) {
		return 0, errReplaced // dropped or altered by another
	}
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	kept := c.Path
	last := c.last
	if c, err = change(c); err != nil {
		return 0, err
	}
	c.Path = kept
	x, rec, err := s.prepareImport(&c, true, ref)
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	return s.replace(x, rec, ref, last, lock)
}

// replace logs x in place of ref, if that has not changed since its last update last.
func (s *Store) replace(x *importing, rec []byte, ref Ref, last rra.Time, lock func()) (Ref, error) {
	var out Created
	t := new(Ticket)
	t.reset(s)
	t.op = &op{rec: rec, apply: func(t *Ticket) { s.applyImport(t, x, &out) }}
	lock()
	same, err := s.unchanged(ref, last)
	if err == nil && !same {
		err = errReplaced
	}
	if err == nil {
		s.users.Add(1) // the ticket leaves
		if err = s.enqueue(t, rec); err != nil {
			s.leave()
		}
	}
	s.logMu.Unlock()
	if err != nil {
		return 0, err
	}
	if err := t.Wait(); err != nil {
		return 0, err
	}
	return out.Ref, out.Err
}

// unchanged reports whether the last update of a series is still last, with nothing on its way for its
// group. The caller holds logMu.
func (s *Store) unchanged(ref Ref, last rra.Time) (same bool, err error) {
	err = s.withSeries(ref, func(g *group, index int) {
		at := s.definition(g.defs[index]).m.LastUpdate(g.words[index*g.c.words : (index+1)*g.c.words])
		same = at == last && g.held[index] == nil && g.inflight.Load() == 0
	})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return same, err
}
