package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
)

// Select yields the series that match all of ms, in order of their references. The label index
// finds series by a matcher for one non-empty value; without such a matcher Select looks at every
// series. Select skips damaged entries; if it met any, it yields an error that wraps ErrDamaged
// last.
func (s *Store) Select(ctx context.Context, ms []Matcher) iter.Seq2[Series, error] {
	return func(yield func(Series, error) bool) {
		for i := range ms {
			if err := ms[i].check(); err != nil {
				yield(Series{}, err)
				return
			}
		}
		if err := s.enter(); err != nil {
			yield(Series{}, err)
			return
		}
		defer s.leave()
		var passed passedOver
		refs, err := s.catalogue.candidates(ms, &passed)
		if err != nil {
			yield(Series{}, err)
			return
		}
		for _, ref := range refs {
			rec, err := s.listed(ref)
			if errors.Is(err, ErrNotFound) {
				continue // dropped meanwhile
			}
			if passed.over(err) {
				continue
			}
			if err != nil {
				yield(Series{}, err)
				return
			}
			if !slices.ContainsFunc(ms, func(m Matcher) bool { return !m.matches(rec.labels) }) {
				if !yield(s.catalogue.seriesOf(ref, rec), ctx.Err()) || ctx.Err() != nil {
					return
				}
			}
		}
		if err := passed.err(); err != nil {
			yield(Series{}, err)
		}
	}
}

// candidates returns sorted references that include all series that match ms.
func (cat *catalogue) candidates(ms []Matcher, passed *passedOver) ([]Ref, error) {
	cat.mu.RLock()
	overlay := make(map[Ref]*seriesRecord, len(cat.records))
	maps.Copy(overlay, cat.records)
	cat.mu.RUnlock()
	found, err := cat.storedCandidates(ms, passed)
	if err != nil {
		return nil, err
	}
	refs := make([]Ref, 0, len(found))
	for _, ref := range found {
		if _, ok := overlay[ref]; !ok {
			refs = append(refs, ref)
		}
	}
	for ref, rec := range overlay {
		if rec != nil {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs, nil
}

func (cat *catalogue) storedCandidates(ms []Matcher, passed *passedOver) (refs []Ref, err error) {
	err = cat.db.View(bucketLabels, func(tx *boltfile.Tx) error {
		var set map[groupID]posting
		for i := range ms {
			m := &ms[i]
			if m.Op != MatchEqual || m.Value == "" {
				continue
			}
			ps := cat.postings(tx, Label{m.Name, m.Value}, passed)
			if set != nil {
				ps = intersect(set, ps)
			}
			if set = ps; len(set) == 0 {
				return nil
			}
		}
		if set != nil {
			refs = cat.refsOf(set)
			return nil
		}
		c := tx.Bucket(bucketSeries).Cursor()
		n := uint64(0)
		for k, v := c.First(); k != nil; k, v = c.Next() {
			n++
			// The key of another series may have become this one by damage: ignore its value.
			if _, err := boltfile.OpenValue(bucketSeries, k, v); passed.over(err) {
				continue
			}
			if len(k) != 8 || !cat.numbered(Ref(binary.BigEndian.Uint64(k))) {
				passed.over(damage.InValue(bucketSeries, k, record.ErrParse))
				continue
			}
			refs = append(refs, Ref(binary.BigEndian.Uint64(k)))
		}
		count, err := metaNumber(tx, metaCount)
		if err == nil && count != n {
			err = &DamageError{Bucket: string(bucketSeries), Err: fmt.Errorf("%d series, not the %d that were written", n, count)}
		}
		passed.over(err)
		return nil
	})
	return refs, err
}

// postings reads all groups of one label.
func (cat *catalogue) postings(tx *boltfile.Tx, l Label, passed *passedOver) map[groupID]posting {
	out := make(map[groupID]posting)
	key := labelKey(l)
	passed.over(tx.PrefixSound(bucketLabels, key))
	c := tx.Bucket(bucketLabels).Cursor()
	for k, v := c.Seek(key); bytes.HasPrefix(k, key); k, v = c.Next() {
		id, p, err := cat.storedPosting(k, v)
		if err == nil {
			out[id] = p
		}
		passed.over(err)
	}
	return out
}

func (cat *catalogue) refsOf(set map[groupID]posting) []Ref {
	var refs []Ref
	for id, p := range set {
		c := cat.class(id.class)
		for i := range 1 << c.shift {
			if p.has(i) {
				refs = append(refs, c.refAt(id.group, i))
			}
		}
	}
	return refs
}

// matches reports whether a series with these labels satisfies m.
func (m *Matcher) matches(labels []Label) bool {
	value := ""
	for _, l := range labels {
		if l.Name == m.Name {
			value = l.Value
		}
	}
	switch m.Op {
	case MatchEqual:
		return value == m.Value
	case MatchNotEqual:
		return value != m.Value
	case MatchRegexp:
		return m.Regexp.MatchString(value)
	}
	return !m.Regexp.MatchString(value)
}
