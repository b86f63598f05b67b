package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Rename gives a series a new path.
func (s *Store) Rename(ctx context.Context, path, to string) error {
	from, _, err := cleanPath(path)
	if err != nil {
		return err
	}
	_, to, err = cleanPath(to)
	if err != nil {
		return err
	}
	rec := appendString(appendString([]byte{recordRename}, from), to)
	return s.change(ctx, rec, func(t *Ticket) error { return s.applyRename(t, from, to) })
}

func (s *Store) applyRename(t *Ticket, from, to string) error {
	ref, err := s.lookup(from)
	if err != nil {
		return fmt.Errorf("rename %q: %w", from, err)
	}
	key := nameKey(to)
	if other, err := s.lookup(key); err == nil && other != ref {
		return fmt.Errorf("rename %q to %q: %w", from, to, ErrExists)
	}
	rec, err := s.record(ref)
	if err != nil {
		return err
	}
	cat := &s.catalogue
	cat.mu.Lock()
	add := &record{path: to, labels: rec.labels, def: rec.def}
	cat.names[from] = 0
	cat.names[key] = ref
	cat.records[ref] = add
	cat.ops = append(cat.ops, catOp{pos: t.pos, ref: ref, key: key, add: add, old: rec, rename: true, oldKey: from})
	cat.mu.Unlock()
	cat.renames.Add(1)
	return s.moveMetadata(from, key)
}

// moveMetadata gives a renamed series its metadata.
func (s *Store) moveMetadata(from, to string) error {
	m, err := s.metadataOf(from)
	if err != nil || m == nil || from == to {
		return err
	}
	return errors.Join(s.putMetadata(to, m), s.putMetadata(from, nil))
}

// Renames counts the series that were renamed since the store was opened. Who remembers references by path asks
// for it now and then: only a rename gives the reference of one path to another.
func (s *Store) Renames() uint64 { return s.catalogue.renames.Load() }

// Relabel gives a series other labels, in place of those it has.
func (s *Store) Relabel(ctx context.Context, path string, labels []Label) error {
	key, _, err := cleanPath(path)
	if err == nil {
		err = checkLabels(labels)
	}
	if err != nil {
		return fmt.Errorf("labels of %.200q: %w", path, err)
	}
	ref, err := s.Lookup(path)
	if err != nil {
		return fmt.Errorf("labels of %q: %w", path, err)
	}
	if old, err := s.Series(ref); err == nil && slices.Equal(old.Labels, labels) {
		return nil
	}
	labels = slices.Clone(labels)
	return s.change(ctx, relabelRecord(key, labels), func(t *Ticket) error { return s.applyRelabel(t, key, labels) })
}

func (s *Store) applyRelabel(t *Ticket, key string, labels []Label) error {
	ref, err := s.lookup(key)
	if err != nil {
		return fmt.Errorf("labels of %q: %w", key, err)
	}
	rec, err := s.record(ref)
	if err != nil {
		return err
	}
	cat := &s.catalogue
	cat.mu.Lock()
	defer cat.mu.Unlock()
	add := &record{path: rec.path, labels: labels, def: rec.def}
	cat.names[key] = ref
	cat.records[ref] = add
	cat.ops = append(cat.ops, catOp{pos: t.pos, ref: ref, key: key, add: add, old: rec, rename: true, oldKey: key, relabel: true})
	if len(cat.ops) > overlayOps {
		s.wake()
	}
	return nil
}
