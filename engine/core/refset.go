package core

import (
	"math/bits"
	"slices"
)

// A groupSet is some series of one group.
type groupSet struct {
	id groupID
	p  posting
}

// A refSet is a set of series, in order of class and group. No group is there twice, and none is
// empty.
type refSet []groupSet

// len returns the number of series.
func (s refSet) len() (n int) {
	for i := range s {
		n += s[i].p.count()
	}
	return n
}

// find returns the place of a group in s at or behind the place from, and whether s has the group.
// It looks near from first: callers ask for groups in order.
func (s refSet) find(id groupID, from int) (int, bool) {
	step := 1
	for from+step < len(s) && s[from+step].id.compare(id) < 0 {
		from += step
		step *= 2
	}
	end := min(from+step+1, len(s))
	at, ok := slices.BinarySearchFunc(s[from:end], id, func(g groupSet, id groupID) int { return g.id.compare(id) })
	return from + at, ok
}

// without removes the series of other from s, in place.
func (s refSet) without(other refSet) refSet {
	out, at := s[:0], 0
	for i := range s {
		g := s[i]
		if at < len(other) {
			var ok bool
			if at, ok = other.find(g.id, at); ok {
				g.p.remove(&other[at].p)
			}
		}
		if !g.p.empty() {
			out = append(out, g)
		}
	}
	return out
}

// within removes from s the series that other has not, in place.
func (s refSet) within(other refSet) refSet {
	out, at := s[:0], 0
	for i := range s {
		g, ok := s[i], false
		if at, ok = other.find(g.id, at); !ok {
			continue
		}
		if g.p.keep(&other[at].p); !g.p.empty() {
			out = append(out, g)
		}
	}
	return out
}

// gathered returns the set of groups that come in any order. A group may come several times. It
// sorts groups in place.
func gathered(groups []groupSet) refSet {
	byID := func(a, b groupSet) int { return a.id.compare(b.id) }
	if !slices.IsSortedFunc(groups, byID) {
		slices.SortFunc(groups, byID)
	}
	out := groups[:0]
	for i := range groups {
		switch n := len(out); {
		case groups[i].p.empty():
		case n > 0 && out[n-1].id == groups[i].id:
			out[n-1].p.add(&groups[i].p)
		default:
			out = append(out, groups[i])
		}
	}
	return out
}

// setOf returns the set of the given series.
func (cat *catalogue) setOf(refs []Ref) refSet {
	var out []groupSet
	for _, ref := range refs {
		c := cat.class(ref.class())
		id := c.groupOf(ref.number())
		if n := len(out); n == 0 || out[n-1].id != id {
			out = append(out, groupSet{id: id})
		}
		out[len(out)-1].p.set(c.index(ref.number()))
	}
	return gathered(out)
}

// refsOf appends the series of a set, in order.
func (cat *catalogue) refsOf(dst []Ref, set refSet) []Ref {
	dst = slices.Grow(dst, set.len())
	for i := range set {
		c := cat.class(set[i].id.class)
		for w, word := range set[i].p {
			for ; word != 0; word &= word - 1 {
				dst = append(dst, c.refAt(set[i].id.group, 64*w+bits.TrailingZeros64(word)))
			}
		}
	}
	return dst
}
