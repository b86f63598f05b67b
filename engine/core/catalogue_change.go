package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// enlist puts a new series into the catalogue. If old is not 0, the new series replaces the series
// old in the same step. enlist fills rec, which the catalogue keeps. It runs in log order.
func (cat *catalogue) enlist(t *Ticket, p *planned, old Ref, rec *seriesRecord) (*definition, Ref, *group) {
	var was *seriesRecord
	if old != 0 {
		was = cat.recordOr(old)
		cat.stopIn(t, old)
	}
	cat.mu.Lock()
	defer cat.mu.Unlock()
	if old != 0 {
		cat.remove(t, old, p.key, was)
	}
	o := catOp{pos: t.pos, key: p.key}
	d := cat.intern(p, &o)
	o.ref = makeRef(d.class.id, d.class.next.Load())
	d.class.next.Add(1)
	g := cat.makeGroup(d.class, o.ref.number()>>d.class.shift)
	*rec = seriesRecord{path: p.Path, labels: p.Labels, def: d.id}
	o.add = rec
	cat.append(o)
	cat.arriving.Add(1)
	return d, o.ref, g
}

// awaitArrival waits until a series of the catalogue is in its group, so that a caller who found
// the series also finds its state.
func (s *Store) awaitArrival(ref Ref) {
	if s.catalogue.arriving.Load() == 0 { // as almost always
		return
	}
	if _, changed := s.catalogue.changedRecord(ref); !changed {
		return
	}
	if s.withSeries(ref, func(*group, int) {}) != nil {
		s.appender.drain() // what made the series is on its way to the shard
	}
}

// drop takes a series out of the catalogue and its group.
func (cat *catalogue) drop(t *Ticket, ref Ref, key string) {
	rec := cat.recordOr(ref)
	cat.mu.Lock()
	cat.remove(t, ref, key, rec)
	cat.mu.Unlock()
	cat.stopIn(t, ref)
}

// remove takes a series, whose record is rec, out of the catalogue. The caller holds mu.
func (cat *catalogue) remove(t *Ticket, ref Ref, key string, rec *seriesRecord) {
	cat.append(catOp{pos: t.pos, ref: ref, key: key, old: rec})
	cat.count.Add(-1)
}

// amend gives a series, whose record is rec, another path and other labels. It runs in log order.
func (cat *catalogue) amend(t *Ticket, ref Ref, path string, labels []Label, rec *seriesRecord) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	add := &seriesRecord{path: path, labels: labels, def: rec.def}
	cat.append(catOp{pos: t.pos, ref: ref, key: nameKey(path), add: add, old: rec})
}

// set notes that a reorder window is in force. It runs in log order.
func (cat *catalogue) set(pos wal.Pos, reorder rra.Time) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	cat.settings = append(cat.settings, setting{pos, reorder})
}

// Rename gives a series a new path. Its metadata goes with it.
func (s *Store) Rename(ctx context.Context, path, to string) error {
	from, _, err := CleanPath(path)
	if err != nil {
		return err
	}
	_, to, err = newPath(to)
	if err != nil {
		return err
	}
	err = s.damagedName(from, nameKey(to))
	if ref, e := s.Lookup(from); err == nil && e == nil {
		if _, e := s.Series(ref); errors.Is(e, ErrDamaged) {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("rename %q to %q: %w", from, to, err)
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.leave()
	if again, err := s.beforeOne(ctx, NumberOf(ctx)); again || err != nil {
		return err
	}
	// The record includes the metadata, because during replay the metadata of the old path may be
	// newer than the rename. It must be the metadata as of this record. So a rename waits for
	// changes of the metadata that are logged and not yet applied.
	s.appender.lock()
	if s.appender.underway.any(from, nameKey(to)) {
		s.appender.mu.Unlock()
		s.appender.pause()
		defer s.appender.resume()
		s.appender.lockPaused()
	}
	return s.rename(NumberOf(ctx), from, to)
}

// rename logs a rename. The caller has entered the store and holds the appender's mu, which rename
// unlocks.
func (s *Store) rename(n Number, from, to string) error {
	m, err := s.metadataOf(from)
	if err != nil {
		s.appender.mu.Unlock()
		return err
	}
	rec := record.AppendText(record.AppendText([]byte{record.KindRename}, from), to)
	if m != nil {
		rec = appendMetadata(rec, m, false)
	}
	return s.changeNow(n, rec, func(t *Ticket) error { return s.applyRename(t, from, to, m) }, func() {}, from, nameKey(to))
}

func (s *Store) applyRename(t *Ticket, from, to string, m *Metadata) error {
	ref, err := s.catalogue.lookup(from)
	if err != nil {
		return fmt.Errorf("rename %q: %w", from, err)
	}
	key := nameKey(to)
	switch other, err := s.catalogue.lookup(key); {
	case errors.Is(err, ErrDamaged):
		return fmt.Errorf("rename %q to %q: %w", from, to, err)
	case err == nil && other != ref:
		return fmt.Errorf("rename %q to %q: %w", from, to, ErrExists)
	}
	rec, err := s.catalogue.record(ref)
	if err != nil {
		return err
	}
	s.catalogue.amend(t, ref, to, rec.labels, rec)
	s.catalogue.renames.Add(1)
	return s.moveMetadata(from, key, m)
}

// moveMetadata gives a renamed series its metadata.
func (s *Store) moveMetadata(from, to string, m *Metadata) error {
	if m == nil || from == to {
		return nil
	}
	return errors.Join(s.putMetadata(to, m), s.putMetadata(from, nil))
}

// Renames returns how many series were renamed since the store was opened. A caller that remembers
// references by path checks it now and then: only a rename moves a reference to another path.
func (s *Store) Renames() uint64 { return s.catalogue.renames.Load() }

// PathLabels is the labels of one path.
type PathLabels struct {
	Path   string
	Labels []Label
}

// Relabel replaces the labels of series, and returns once that is durable. Of several labels of one
// path the last ones stay. out[i] is nil or says why ls[i] was refused; it wraps ErrNotFound if the
// path is no series, ErrInvalid if the labels are not allowed.
func (s *Store) Relabel(ctx context.Context, ls []PathLabels) (out []error, err error) {
	out = make([]error, len(ls))
	tickets := make([]Ticket, len(ls))
	var under []int              // indices of changes that are logged
	logged := make(map[Ref]bool) // the series that they change
	for i := range ls {
		tickets[i].number = NumberOf(ctx).Plus(i)
		queued, e := s.enqueueRelabel(ctx, &tickets[i], &ls[i], &out[i], logged)
		if e != nil {
			err = e
			break
		}
		if queued {
			under = append(under, i)
		}
	}
	for _, i := range under {
		if e := tickets[i].Wait(); e != nil {
			err = errors.Join(err, e)
		}
	}
	if len(under) == 0 && err == nil {
		err = s.confirm(ctx)
	}
	return out, err
}

// enqueueRelabel logs a change of labels, unless the labels are the same and no change of this
// series is logged already, which may not be applied yet.
func (s *Store) enqueueRelabel(ctx context.Context, t *Ticket, l *PathLabels, out *error, logged map[Ref]bool) (bool, error) {
	n := t.number
	if again, err := s.beforeOne(ctx, n); again || err != nil {
		*out = err
		return false, nil
	}
	key, _, err := CleanPath(l.Path)
	if err == nil {
		err = checkLabels(l.Labels)
	}
	var ref Ref
	if err == nil {
		ref, err = s.Lookup(l.Path)
	}
	if err != nil {
		*out = fmt.Errorf("labels of %.200q: %w", l.Path, err)
		return false, nil
	}
	old, err := s.Series(ref)
	if errors.Is(err, ErrDamaged) {
		*out = fmt.Errorf("labels of %.200q: %w", l.Path, err)
		return false, nil
	}
	if err == nil && slices.Equal(old.Labels, l.Labels) && !logged[ref] {
		return false, nil
	}
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	defer s.leave()
	labels := slices.Clone(l.Labels)
	s.appender.ready(t)
	t.number = n
	rec := appendLabels(record.AppendText([]byte{record.KindRelabel}, key), labels)
	t.op = &op{rec: rec, keys: []string{key}, apply: func(t *Ticket) {
		*out = s.applyRelabel(t, key, labels)
		s.refused(t, 0, *out)
	}}
	if err := s.appender.submitOp(t, s.appender.lock); err != nil {
		return false, err
	}
	logged[ref] = true
	return true, nil
}

func (s *Store) applyRelabel(t *Ticket, key string, labels []Label) error {
	ref, err := s.catalogue.lookup(key)
	if err != nil {
		return fmt.Errorf("labels of %q: %w", key, err)
	}
	rec, err := s.catalogue.record(ref)
	if err != nil {
		return err
	}
	s.catalogue.amend(t, ref, rec.path, labels, rec)
	return nil
}

// applyDrop drops a key. If only is not 0 and the key belongs to another series by now, it drops
// nothing. It runs in log order.
func (s *Store) applyDrop(t *Ticket, key string, only Ref) error {
	ref, err := s.catalogue.lookup(key)
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("drop %q: %w", key, err)
	}
	if only != 0 && (err != nil || ref != only) {
		return fmt.Errorf("drop %q: %w", key, errReplaced)
	}
	if err != nil {
		m, _ := s.metadataOf(key) // metadata that cannot be read counts as missing
		if m == nil {
			return fmt.Errorf("drop %q: %w", key, err)
		}
	} else {
		s.catalogue.drop(t, ref, key)
	}
	return s.putMetadata(key, nil)
}
