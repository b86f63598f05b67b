package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// Import makes a series of every copy, with its state and all its rows. Each series is made whole
// or not at all. With overwrite a copy replaces the series of the same path. out[i] is the outcome
// of copies[i], as CreateBatch gives it. Import keeps no reference to copies. Archives with one PDP
// a row share their rows. If their rows differ, which they never do in files that rrdtool filled,
// they get rows of their own (rra.Archive.Own).
func (s *Store) Import(ctx context.Context, copies []Copy, overwrite bool) ([]Created, error) {
	return s.importAll(ctx, copies, overwrite, newPath)
}

// importAll is Import with what checks the paths.
func (s *Store) importAll(ctx context.Context, copies []Copy, overwrite bool, check func(path string) (key, clean string, err error)) ([]Created, error) {
	out := make([]Created, len(copies))
	tickets := make([]Ticket, len(copies))
	applied := make([]bool, len(copies))
	logged := make([]*importing, len(copies))
	var under []int // indices of copies that are logged
	var failed error
	for i := range copies {
		var x *importing
		var rec []byte
		_, _, err := check(copies[i].Path)
		if err == nil {
			x, rec, err = s.prepareImport(&copies[i], overwrite, 0)
		}
		if err != nil {
			out[i].Err = fmt.Errorf("import %q: %w", copies[i].Path, err)
			continue
		}
		queued, err := s.enqueueImport(ctx, &tickets[i], x, rec, &out[i], &applied[i])
		if err != nil {
			failed = err
			break
		}
		if queued {
			under = append(under, i)
			logged[i] = x
		}
	}
	for _, i := range under {
		if err := tickets[i].Wait(); err != nil {
			failed = errors.Join(failed, err)
		}
		logged[i].reserved.end() // where it was not applied
		if !applied[i] {
			s.catalogue.arrive(logged[i].plan, func() {})
		}
	}
	if len(under) == 0 && failed == nil {
		failed = s.confirm(ctx)
	}
	return out, failed
}

// prepareImport checks a copy and codes its rows.
func (s *Store) prepareImport(c *Copy, overwrite bool, replaces Ref) (*importing, []byte, error) {
	key, path, err := cleanPath(c.Path)
	if err == nil {
		err = checkLabels(c.Labels)
	}
	if err == nil && c.Definition == nil {
		err = invalid("a series needs a definition")
	}
	if err != nil {
		return nil, nil, err
	}
	x := &importing{planned: planned{Spec: Spec{Path: path, Labels: slices.Clone(c.Labels), Overwrite: overwrite}, key: key}, replaces: replaces}
	d := ownRows(c.Definition, c.Rows)
	if x.m, x.def, err = s.catalogue.admitDefinition(d); err != nil {
		return nil, nil, err
	}
	x.state = rra.State{W: slices.Clone(c.State.W), Text: slices.Clone(c.State.Text)}
	if err := x.checkState(); err != nil {
		return nil, nil, err
	}
	rec, err := x.record(c.Rows)
	if err != nil {
		return nil, nil, err
	}
	rec, err = x.code(rec, s.catalogue.classOf(x.m).streams, c.Rows)
	if err == nil && len(rec) > wal.MaxRecord {
		err = fmt.Errorf("rows take %d bytes, more than the %d of one record", len(rec), wal.MaxRecord)
	}
	return x, rec, err
}

// enqueueImport logs an import, if there is room for one more series.
func (s *Store) enqueueImport(ctx context.Context, t *Ticket, x *importing, rec []byte, out *Created, applied *bool) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	if err := s.damagedName(x.key); err != nil {
		*out = Created{Err: fmt.Errorf("import %q: %w", x.Path, err)}
		s.leave()
		return false, nil
	}
	one := []Created{{}}
	if x.plan = s.catalogue.reserve([]planned{x.planned}, one); len(x.plan) == 0 {
		*out = one[0]
		s.leave()
		return false, nil
	}
	var err error
	if x.reserved, err = s.reserveImport(ctx, x, rec); err != nil {
		s.catalogue.arrive(x.plan, func() {})
		s.leave()
		if errors.Is(err, ErrMemory) { // the others may be smaller
			out.Err = fmt.Errorf("import %.200q: %w", x.Path, err)
			return false, nil
		}
		return false, err
	}
	s.appender.ready(t)
	t.op = &op{rec: rec, apply: func(t *Ticket) {
		s.catalogue.arrive(x.plan, func() { s.applyImport(t, x, out) })
		*applied = true
	}}
	if err := s.appender.submitOp(t, s.appender.lock); err != nil {
		x.reserved.end()
		s.catalogue.arrive(x.plan, func() {})
		s.leave()
		return false, err
	}
	return true, nil
}

// applyImport makes the series. It runs in log order.
func (s *Store) applyImport(t *Ticket, x *importing, out *Created) {
	old, err := s.catalogue.lookup(x.key)
	switch {
	case x.replaces != 0 && (errors.Is(err, ErrNotFound) || err == nil && old != x.replaces):
		out.Err = errReplaced
		return
	case err == nil && !x.Overwrite:
		*out = Created{Ref: old, Err: fmt.Errorf("import %q: %w", x.Path, ErrExists)}
		return
	case err != nil && !errors.Is(err, ErrNotFound):
		out.Err = err
		return
	}
	d, ref, g := s.catalogue.enlist(t, &x.planned, old, new(seriesRecord))
	s.failpoint("catalogue-import")
	out.Ref = ref
	index := d.class.index(ref.number())
	t.op.do = append(t.op.do, groupOp{g, func(_ *shard, g *group) {
		g.adopt(index, d, x)
		x.reserved.end()
	}, []Ref{ref}})
}
