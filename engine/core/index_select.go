package core

import (
	"math"
	"slices"
)

// filterEach is how many entries of the label index may be read for each series of a set. If more
// are needed, the records of the series are compared instead.
const filterEach = 8

// selected returns the series of the database that fulfil the terms. exact is false if their
// records must be compared with the matchers: reading more of the index would take longer.
func (r *indexReader) selected(terms []term) (set refSet, exact bool) {
	set, rest, bounded := r.labelled(terms)
	exact = true
	// Terms with known values take the least work, walks over values the most.
	for _, pass := range [...]func(t *term) bool{
		func(t *term) bool { return !t.exclude && t.takes == nil && t.below == nil },
		func(t *term) bool { return t.below != nil },
		func(t *term) bool { return t.values != nil && !t.exclude && t.takes != nil },
		func(t *term) bool { return !t.exclude && t.values == nil && t.takes != nil },
		func(t *term) bool { return t.exclude },
	} {
		for _, t := range rest {
			if !pass(t) {
				continue
			}
			if bounded && len(set) == 0 {
				return nil, true
			}
			if !bounded && t.exclude {
				set = r.everything()
			}
			if bounded || t.exclude {
				set, exact = r.narrow(set, t, exact)
			} else {
				set, _ = r.union(t, math.MaxInt)
			}
			bounded = true
		}
	}
	return set, exact
}

// fewEach is how many entries of the index are read to learn whether something is told by few.
const fewEach = 64

// labelled returns the series that fulfil the terms of one label each, and the terms that are left.
// bounded is false if there is no such term. If the labels are common ones, a term of the others
// that few series fulfil comes first: its groups are then looked up in the lists of the labels,
// which are not read as a whole.
func (r *indexReader) labelled(terms []term) (set refSet, rest []*term, bounded bool) {
	var labels []Label
	var common []*term // those of labels
	for i := range terms {
		t := &terms[i]
		if l, ok := t.one(); ok && !t.exclude {
			labels, common = append(labels, l), append(common, t)
		} else {
			rest = append(rest, t)
		}
	}
	if len(labels) == 0 {
		return nil, rest, false
	}
	rare := func(t *term) bool { return !t.exclude }
	if slices.ContainsFunc(rest, rare) {
		set, whole := r.join(labels, fewEach)
		if whole {
			return set, rest, true
		}
		for i, t := range rest {
			if !rare(t) {
				continue
			}
			if set, whole = r.union(t, fewEach); !whole {
				continue
			}
			for _, t := range common {
				set, _ = r.narrow(set, t, true)
			}
			return set, slices.Delete(rest, i, i+1), true
		}
	}
	set, _ = r.join(labels, math.MaxInt)
	return set, rest, true
}

// union returns the series that fulfil t, which excludes none. It returns false if it would read
// more than most entries of the index.
func (r *indexReader) union(t *term, most int) (set refSet, whole bool) {
	if t.below != nil {
		return r.below(t.below, most)
	}
	var out []groupSet
	if t.values == nil {
		whole = r.values(t.name, t.prefix, most, t.takes, func(id groupID, p *posting) bool {
			out = append(out, groupSet{id, *p})
			return true
		})
		return gathered(out), whole
	}
	for _, v := range t.values {
		if v == "" {
			continue
		}
		for x := r.list(Label{t.name, v}); x.k != nil; x.next() {
			if most--; most < 0 {
				return nil, false
			}
			out = append(out, groupSet{x.group(), x.posting()})
		}
	}
	return gathered(out), true
}

// narrow returns the series of set that fulfil t. If that would take long, it returns set as it is,
// and false in place of exact.
func (r *indexReader) narrow(set refSet, t *term, exact bool) (refSet, bool) {
	if t.below != nil {
		named, whole := r.below(t.below, filterEach*set.len())
		if !whole {
			return set, false
		}
		return set.within(named), exact
	}
	carry := make(refSet, len(set)) // the series of set that carry a value of t
	for i := range set {
		carry[i].id = set[i].id
	}
	switch {
	case t.all:
		r.within(set, carry, Label{Name: t.name})
	case t.values != nil:
		for _, v := range t.values {
			if v != "" {
				r.within(set, carry, Label{t.name, v})
			}
		}
	default:
		if !r.walk(set, carry, t) {
			return set, false
		}
	}
	if t.exclude {
		return set.without(gathered(carry)), exact
	}
	return gathered(carry), exact
}

// fewEntries is how many entries of a value are read in a walk. A value with more is then read by
// itself, so that the reader can jump to the groups that matter.
const fewEntries = 4

// walk adds to carry the series of set that fulfil t, whose values are not known. It returns false
// if that would take long.
func (r *indexReader) walk(set, carry refSet, t *term) bool {
	var long []string
	at, read, value := 0, 0, ""
	whole := r.values(t.name, t.prefix, filterEach*set.len(), t.takes, func(id groupID, p *posting) bool {
		if r.value != value {
			at, read, value = 0, 0, r.value
		}
		if read++; read > fewEntries {
			long = append(long, value)
			return false
		}
		var ok bool
		if at, ok = set.find(id, at); ok {
			p.keep(&set[at].p)
			carry[at].p.add(p)
		}
		return at < len(set)
	})
	for _, v := range long {
		r.within(set, carry, Label{t.name, v})
	}
	return whole
}
