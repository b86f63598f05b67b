package core

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"
)

// Labels returns the names of labels, or the values of one, that the series of a query have,
// sorted. If the error wraps ErrDamaged, it returns those that can be read.
func (s *Store) Labels(ctx context.Context, q LabelQuery) ([]string, error) {
	fromRecord := func(rec []Label, add func(string)) {
		for _, l := range rec {
			if l.Value == "" {
				continue
			}
			if q.Name == "" {
				add(l.Name)
			} else if l.Name == q.Name {
				add(l.Value)
			}
		}
	}
	out, err := s.strings(ctx, q.Matchers, fromRecord, func(r *indexReader, within *within, budget int, add func(string)) bool {
		if q.Name == "" {
			r.names(within, add)
			return true
		}
		found := 0
		return r.values(q.Name, "", budget, func(string) bool { return true }, func(id groupID, p *posting) bool {
			if !within.any(id, *p) {
				return true
			}
			add(r.value)
			found++
			r.enough = found == q.Most
			return false
		})
	})
	if q.Most > 0 && len(out) > q.Most {
		out = out[:q.Most]
	}
	return out, err
}

// A within is the series that a walk over the index looks at: those of set, or all.
type within struct {
	all bool
	set refSet
}

// any reports whether w has one of the series p of a group.
func (w *within) any(id groupID, p posting) bool {
	if w.all {
		return !p.empty()
	}
	at, ok := w.set.find(id, 0)
	if ok {
		p.keep(&w.set[at].p)
	}
	return ok && !p.empty()
}

// strings returns the strings of the series that match ms, sorted. fromRecord adds the strings of a
// record. fromIndex adds the strings by the index. It returns false if it has read
// as many entries as budget says, so that reading the records takes no longer.
func (s *Store) strings(ctx context.Context, ms []Matcher, fromRecord func(rec []Label, add func(string)),
	fromIndex func(r *indexReader, w *within, budget int, add func(string)) bool,
) ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	terms, err := termsOf(ms)
	if err != nil {
		return nil, err
	}
	var passed passedOver
	set := make(map[string]bool) // strings of records
	add := func(v string) { set[v] = true }
	var out []string // strings of the index, in order; most come once
	var refs []Ref   // whose records must be read
	err = s.catalogue.view(ctx, &passed, func(r *indexReader) {
		w := &within{all: len(terms) == 0}
		exact, budget := true, math.MaxInt
		if !w.all {
			w.set, exact = r.selected(terms)
			budget = filterEach * w.set.len()
		}
		if !exact || !fromIndex(r, w, budget, func(v string) { out = append(out, v) }) {
			refs = s.catalogue.refsOf(nil, w.set)
		}
	})
	if err == nil {
		err = s.resolve(ctx, refs, &passed, func(_ int, x Series) bool {
			if matchesAll(ms, x.Path, x.Labels) {
				fromRecord(x.Labels, add)
			}
			return true
		})
	}
	if err == nil {
		err = passed.err()
	}
	out = slices.AppendSeq(out, maps.Keys(set))
	if !slices.IsSorted(out) {
		slices.Sort(out)
	}
	return slices.Compact(out), err
}

// names adds the names of labels that series of w carry.
func (r *indexReader) names(w *within, add func(string)) {
	c := r.labels.cursor(r.tx.Bucket(bucketLabels))
	var past []byte // the walk has passed the keys before this one
	for c.seek([]byte{1}); c.key != nil && r.more(); {
		id, p, ok := r.posting(&c)
		if !ok {
			c.next()
			continue
		}
		name := c.key[:bytes.IndexByte(c.key, 0)]
		if len(c.key) == len(name)+2+8 { // an entry of all series that carry the name
			if !w.any(id, p) {
				c.next()
				continue
			}
			add(string(name))
		}
		// A damaged key that is out of order may lead back to a name that came before.
		next := append(bytes.Clone(name), 1)
		if bytes.Compare(next, past) <= 0 {
			c.next()
			continue
		}
		past = next
		c.seek(past)
	}
}
