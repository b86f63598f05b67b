package core

import (
	"context"
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
	err = s.catalogue.view(ctx, passed, func(r *indexReader) {
		var set refSet
		if len(terms) == 0 {
			set, exact = r.everything(), true
		} else {
			set, exact = r.selected(terms)
		}
		refs = s.catalogue.refsOf(nil, set)
	})
	return refs, exact && passed.n == 0, err
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
