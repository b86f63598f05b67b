package core

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// Flush applies the samples of some series that the reorder window holds, and returns once that is
// durable. It ignores references of dropped series, and series that cannot be read.
func (s *Store) Flush(ctx context.Context, refs []Ref) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.flushHeld(refs, s.appender.lock)
}

// flushHeld is Flush without the wait for room, for a caller that has entered the store. lock locks
// the appender's mu.
func (s *Store) flushHeld(refs []Ref, lock func()) error {
	rec := []byte{record.KindSamples}
	var do []groupOp
	for _, ref := range refs {
		held := false
		err := s.withSeries(ref, func(g *group, index int) { held = g.held[index] != nil || g.inflight.Load() > 0 })
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDamaged) {
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
		return nil
	}
	return s.changeNow(Number{}, rec, func(t *Ticket) error { t.op.do = do; return nil }, lock)
}

// alterTries is how often Alter starts again because the series has changed meanwhile. After that
// it keeps all writers from logging during a try.
const alterTries = 10

// Alter replaces a series by the copy that change returns, which may have another definition,
// state, rows or labels. The path stays; the reference is new. No sample that arrives meanwhile is
// lost or out of order: Alter then calls change again with the newer series, any number of times.
// It returns an error of change as it is, and alters nothing.
func (s *Store) Alter(ctx context.Context, path string, change func(Copy) (Copy, error)) (Ref, error) {
	for try := 0; ; try++ {
		ref, err := s.tryAlter(ctx, path, change, try >= alterTries)
		if !errors.Is(err, errReplaced) {
			return ref, err
		}
	}
}

// tryAlter is one try of Alter. The error is errReplaced if the series has changed meanwhile. With
// hold nobody else logs during the try.
func (s *Store) tryAlter(ctx context.Context, path string, change func(Copy) (Copy, error), hold bool) (Ref, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	defer s.leave() // also if change panics
	if again, err := s.beforeOne(ctx, NumberOf(ctx)); err != nil {
		return 0, err
	} else if again {
		return s.Lookup(path)
	}
	lock := s.appender.lock
	if hold {
		lock = s.appender.lockPaused
		s.appender.pause()
		defer s.appender.resume()
	}
	key, _, err := CleanPath(path)
	if err != nil {
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
	ref, err := s.catalogue.lookup(key)
	if err != nil {
		if !hold { // the caller of pause would wait for itself
			err = cmp.Or(s.confirm(ctx), err)
		}
		return 0, fmt.Errorf("alter %q: %w", path, err)
	}
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
	kept := alterBase{key: key, path: c.Path, labels: slices.Clone(c.Labels), last: c.last}
	if c, err = change(c); err != nil {
		return 0, err
	}
	c.Path = kept.path
	x, spec := planner{verb: "alter", defs: admitting{cat: &s.catalogue}}, c.Spec(true)
	p, err := x.plan(&spec, CleanPath)
	if err != nil {
		return 0, err
	}
	p.replaces = ref
	return s.replace(ctx, p, kept, lock)
}

// An alterBase is the part of a series that may change while change runs, as tryAlter read it.
type alterBase struct {
	key, path string
	labels    []Label
	last      rra.Time // the last update
}

// replace makes p in place of the series that it replaces, if that is still as it was read.
func (s *Store) replace(ctx context.Context, p planned, was alterBase, lock func()) (Ref, error) {
	out := make([]Created, 1)
	x, err := s.create(ctx, []planned{p}, out, func(t *Ticket, _ func()) error {
		lock()
		defer s.appender.mu.Unlock()
		if same, err := s.unchanged(p.replaces, was); err != nil || !same {
			return cmp.Or(err, errReplaced)
		}
		return s.appender.enqueueOp(t)
	})
	if err == nil && x != nil {
		err = x.wait()
	}
	if err != nil {
		return 0, err
	}
	return out[0].Ref, out[0].Err
}

// unchanged reports whether last update, path and labels of a series are still as they were read,
// and no logged record is about to change them. The caller holds the appender's mu.
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
