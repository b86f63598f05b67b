package core

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
)

// selected calls fn with the series that match all of ms, in order of their references, until fn
// returns false.
func (s *Store) selected(ctx context.Context, ms []Matcher, passed *passedOver, fn func(Series) bool) error {
	refs, _, err := s.matching(ctx, ms, passed)
	if err != nil {
		return err
	}
	return s.resolve(ctx, refs, passed, func(_ int, x Series) bool {
		return !matchesAll(ms, x.Path, x.Labels) || fn(x)
	})
}

// selectRefs returns the references of the series that match all of ms, in order.
func (s *Store) selectRefs(ctx context.Context, ms []Matcher, passed *passedOver) ([]Ref, error) {
	refs, exact, err := s.matching(ctx, ms, passed)
	if err != nil || exact {
		return refs, err
	}
	var out []Ref
	err = s.resolve(ctx, refs, passed, func(i int, x Series) bool {
		if matchesAll(ms, x.Path, x.Labels) {
			out = append(out, refs[i])
		}
		return true
	})
	return out, err
}

// matching returns sorted references that include all series that match ms, and no others if exact.
func (s *Store) matching(ctx context.Context, ms []Matcher, passed *passedOver) (refs []Ref, exact bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	terms, err := termsOf(ms)
	if err != nil {
		return nil, false, err
	}
	cat := &s.catalogue
	found, changed := cat.overlaySelect(ms, terms)
	if len(terms) == 0 {
		exact = true
		if refs, err = cat.storedSeries(passed); len(changed) > 0 {
			refs = cat.refsOf(nil, cat.setOf(refs).without(changed))
		}
	} else {
		err = cat.view(ctx, passed, func(r *indexReader) {
			var set refSet
			set, exact = r.selected(terms)
			refs = cat.refsOf(nil, set.without(changed))
		})
	}
	if err != nil || len(found) == 0 {
		return refs, exact && passed.n == 0, err
	}
	for _, x := range found {
		refs = append(refs, x.ref)
	}
	slices.Sort(refs)
	return slices.Compact(refs), exact && passed.n == 0, nil
}

// termsOf returns ms as terms, without matchers that every series fulfils.
func termsOf(ms []Matcher) (terms []term, err error) {
	for i := range ms {
		if err := ms[i].check(); err != nil {
			return nil, err
		}
		if t, any := ms[i].termOf(); !any {
			terms = append(terms, t)
		}
	}
	return terms, nil
}

// storedSeries returns the references of all series of the database, in order.
func (cat *catalogue) storedSeries(passed *passedOver) (refs []Ref, err error) {
	err = cat.db.View(bucketSeries, func(tx *boltfile.Tx) error {
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
	slices.Sort(refs)
	return refs, err
}

// matchesAll reports whether a series with this path and these labels satisfies all of ms.
func matchesAll(ms []Matcher, path string, labels []Label) bool {
	for i := range ms {
		if ms[i].Op == MatchBelow {
			if !ms[i].reaches(nameKey(path)) {
				return false
			}
		} else if !ms[i].matches(labels) {
			return false
		}
	}
	return true
}

// matches reports whether a series with these labels satisfies m, which is not about paths.
func (m *Matcher) matches(labels []Label) bool {
	value := ""
	for i := range labels {
		if labels[i].Name == m.Name {
			value = labels[i].Value
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
