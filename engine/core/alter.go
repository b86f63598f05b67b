package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// Flush lets go the samples that the reorder window holds of some series, and returns once that is
// durable. What is not a series any more, or cannot be read, is passed over.
func (s *Store) Flush(ctx context.Context, refs []Ref) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	return s.flushHeld(refs, s.appender.lock)
}

// flushHeld is Flush without a wait for room. The call is counted, and leaves. lock takes the
// appender's mu.
func (s *Store) flushHeld(refs []Ref, lock func()) error {
	rec := []byte{record.KindSamples}
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
		c := s.catalogue.class(ref.class())
		g, index := c.group(ref.number()), c.index(ref.number())
		rec = binary.AppendUvarint(rec, uint64(c.id)<<2|runFlush)
		rec = binary.AppendUvarint(rec, uint64(g.id))
		rec = record.AppendTime(rec, 0, 0)
		at := len(rec)
		rec = binary.AppendUvarint(append(rec, 0, 0, 0), uint64(index))
		putLength(rec[at:])
		do = append(do, groupOp{g, func(sh *shard, g *group) { sh.applyAllHeld(g, index) }, 0})
	}
	if len(do) == 0 {
		s.leave()
		return nil
	}
	return s.changeNow(rec, func(t *Ticket) error { t.op.do = do; return nil }, lock)
}

// alterTries is how often Alter starts anew because the series has changed meanwhile, before it
// holds writers back.
const alterTries = 10

// Alter puts what change makes of a series in its place: with another definition, state and rows,
// or labels. Samples that arrive meanwhile are neither lost nor out of order: change is called
// again for the series that has them, any number of times. The path stays, the reference is a new
// one. An error of change ends it and is returned as it is.
func (s *Store) Alter(ctx context.Context, path string, change func(Copy) (Copy, error)) (Ref, error) {
	for try := 0; ; try++ {
		ref, err := s.enterAlter(ctx, path, change, try >= alterTries)
		if !errors.Is(err, errReplaced) {
			return ref, err
		}
	}
}

// enterAlter is one try of Alter, counted as a call also where change panics.
func (s *Store) enterAlter(ctx context.Context, path string, change func(Copy) (Copy, error), hold bool) (Ref, error) {
	if err := s.enterWrite(); err != nil {
		return 0, err
	}
	defer s.leave()
	return s.tryAlter(ctx, path, change, hold)
}

// tryAlter is one try, which ends with errReplaced if the series has changed meanwhile. With hold
// nobody else logs meanwhile.
func (s *Store) tryAlter(ctx context.Context, path string, change func(Copy) (Copy, error), hold bool) (Ref, error) {
	if err := s.admit(ctx); err != nil {
		return 0, err
	}
	lock := s.appender.lock
	if hold {
		lock = s.appender.lockPaused
		s.appender.pause()
		defer s.appender.resume()
	}
	key, _, err := cleanPath(path)
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	ref, err := s.catalogue.lookup(key)
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	if hold {
		s.appender.underway.await(key)
		s.appender.awaitGroup(ref)
	}
	s.calls.enterAgain() // flushHeld leaves
	if err := s.flushHeld([]Ref{ref}, lock); err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	copied, err := s.admission.reserveCopy(ctx)
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	defer copied.end()
	c, _, err := s.export(ctx, ref, copied)
	if errors.Is(err, ErrNotFound) {
		return 0, errReplaced // dropped or altered by another
	}
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	kept := alterBase{key: key, path: c.Path, labels: slices.Clone(c.Labels), last: c.last, lost: c.lost}
	if c, err = change(c); err != nil {
		return 0, err
	}
	c.Path, c.lost = kept.path, kept.lost
	x, rec, err := s.prepareImport(&c, true, ref)
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	if x.reserved, err = s.reserveImport(ctx, x, rec); err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	defer x.reserved.end()
	return s.replace(x, rec, ref, kept, lock)
}

// An alterBase is what tryAlter read of a series, as far as it may change meanwhile.
type alterBase struct {
	key, path string
	labels    []Label
	last      rra.Time // the last update
	lost      bool
}

// replace logs x in place of ref, if that is still as it was read.
func (s *Store) replace(x *importing, rec []byte, ref Ref, was alterBase, lock func()) (Ref, error) {
	var out Created
	t := new(Ticket)
	s.appender.ready(t)
	t.op = &op{rec: rec, apply: func(t *Ticket) { s.applyImport(t, x, &out) }}
	lock()
	same, err := s.unchanged(ref, was)
	if err == nil && !same {
		err = errReplaced
	}
	if err == nil {
		s.calls.enterAgain() // the ticket leaves
		if err = s.appender.enqueue(t, rec); err != nil {
			s.leave()
		}
	}
	s.appender.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if err := t.Wait(); err != nil {
		return 0, err
	}
	return out.Ref, out.Err
}

// unchanged reports whether a series is still as it was read: its last update, path and labels,
// with nothing on its way that changes them. The caller holds the appender's mu.
func (s *Store) unchanged(ref Ref, was alterBase) (same bool, err error) {
	if s.appender.underway.any(was.key) {
		return false, nil
	}
	err = s.withSeries(ref, func(g *group, index int) {
		at := g.lastUpdate(index)
		same = at == was.last && g.held[index] == nil && g.inflight.Load() == 0
	})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil || !same {
		return false, err
	}
	rec, err := s.catalogue.record(ref)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && rec.path == was.path && slices.Equal(rec.labels, was.labels), err
}
