package core

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// LabelNames returns the label names in use, sorted. If the error wraps ErrDamaged, the names are
// those that can be read.
func (s *Store) LabelNames(ctx context.Context) ([]string, error) {
	return s.labelStrings(ctx, nil, func(l Label) (string, bool) { return l.Name, true })
}

// LabelValues returns the values in use of the label name, sorted. If the error wraps ErrDamaged,
// the values are those that can be read.
func (s *Store) LabelValues(ctx context.Context, name string) ([]string, error) {
	return s.labelStrings(ctx, append([]byte(name), 0), func(l Label) (string, bool) { return l.Value, l.Name == name })
}

// labelStrings walks the label index under prefix, from one distinct string to the next.
func (s *Store) labelStrings(ctx context.Context, prefix []byte, pick func(Label) (string, bool)) ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	set, removed, doubtful := s.catalogue.overlayLabels(pick)
	var passed passedOver
	err := s.db.View(bucketLabels, func(tx *boltfile.Tx) error {
		passed.over(tx.PrefixSound(bucketLabels, prefix))
		c := tx.Bucket(bucketLabels).Cursor()
		var past []byte // the walk has passed the keys before this one
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, _, err := s.catalogue.storedPosting(k, v); passed.over(err) {
				k, v = c.Next()
				continue
			}
			end := len(prefix) + bytes.IndexByte(k[len(prefix):], 0)
			name := string(k[len(prefix):end])
			if !set[name] && (!doubtful[name] || s.catalogue.carried(tx, k[:end+1], removed, &passed)) {
				set[name] = true
			}
			// A damaged key that is out of order may lead back to a string that came before.
			next := append(slices.Clone(k[:end]), 1) // past all keys that continue with 0
			if bytes.Compare(next, past) <= 0 {
				k, v = c.Next()
				continue
			}
			past = next
			k, v = c.Seek(past)
		}
		return nil
	})
	if err == nil {
		err = passed.err()
	}
	return slices.Sorted(maps.Keys(set)), err
}

// overlayLabels returns the strings that pick selects of the labels of series that are only in the
// overlay; the series that were dropped since the last checkpoint; and the strings that pick
// selects of their labels.
func (cat *catalogue) overlayLabels(pick func(Label) (string, bool)) (set map[string]bool, removed map[groupID]posting, doubtful map[string]bool) {
	set, removed, doubtful = make(map[string]bool), make(map[groupID]posting), make(map[string]bool)
	take := func(rec *seriesRecord, into map[string]bool) {
		for _, l := range rec.labels {
			if v, ok := pick(l); ok {
				into[v] = true
			}
		}
	}
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	for _, rec := range cat.records {
		if rec != nil {
			take(rec, set)
		}
	}
	for i := range cat.ops {
		if o := &cat.ops[i]; o.old != nil && (!o.rename || o.relabel) {
			c := cat.class(o.ref.class())
			id := c.groupOf(o.ref.number())
			p := removed[id]
			p.set(c.index(o.ref.number()))
			removed[id] = p
			take(o.old, doubtful)
		}
	}
	return set, removed, doubtful
}

// carried reports whether a series that was not removed carries a label under prefix.
func (cat *catalogue) carried(tx *boltfile.Tx, prefix []byte, removed map[groupID]posting, passed *passedOver) bool {
	c := tx.Bucket(bucketLabels).Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix) && len(k) >= 8; k, v = c.Next() {
		id, p, err := cat.storedPosting(k, v)
		if passed.over(err) {
			continue
		}
		gone := removed[id]
		for i := range p {
			if p[i]&^gone[i] != 0 {
				return true
			}
		}
	}
	return false
}
