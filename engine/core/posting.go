package core

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"strconv"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/internal/record"
)

// The label index says, for a label and a group, which series of the group carry the label. The key
// is name, 0, value, 0, class, group. The value is the indices of the series, a byte each, or a
// bitmap if that is shorter. Series of one host have neighbouring numbers, so a label of a host
// takes one or two keys.
//
// Three kinds of entries have keys that no label has. With an empty value, the entry names the
// series that carry the label name with any value. With an empty name, the value is the number of a
// definition, and the entry names the series that have it. With both empty, it names all series of
// the group. Part of the format.

// zeroByte stands between the strings of a key.
var zeroByte = []byte{0}

// A posting is the series of one group that carry a label, as a bitmap.
type posting [1 << groupShift / 64]uint64

func (p *posting) set(i int) { p[i/64] |= 1 << (i % 64) }

func (p *posting) clear(i int) { p[i/64] &^= 1 << (i % 64) }

func (p *posting) count() (n int) {
	for _, w := range p {
		n += bits.OnesCount64(w)
	}
	return n
}

func (p *posting) empty() bool { return *p == posting{} }

// add adds the series of q.
func (p *posting) add(q *posting) {
	for i := range p {
		p[i] |= q[i]
	}
}

// keep removes all series that are not in q.
func (p *posting) keep(q *posting) {
	for i := range p {
		p[i] &= q[i]
	}
}

// remove removes the series of q.
func (p *posting) remove(q *posting) {
	for i := range p {
		p[i] &^= q[i]
	}
}

// append codes p: a byte an index where there are fewer than 32, else 32 bytes of bitmap.
func (p *posting) append(dst []byte) []byte {
	if p.count() < 32 {
		for i, w := range p {
			for ; w != 0; w &= w - 1 {
				dst = append(dst, byte(64*i+bits.TrailingZeros64(w)))
			}
		}
		return dst
	}
	for _, w := range p {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

func decodePosting(b []byte) (p posting, err error) {
	switch {
	case len(b) == 32:
		for i := range p {
			p[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		return p, nil
	case len(b) > 32:
		return p, record.ErrParse
	}
	for _, i := range b {
		p.set(int(i))
	}
	return p, nil
}

// postingIn looks a key up in the label index. A key without an entry has an empty posting.
func (cat *catalogue) postingIn(c *boltfile.Cursor, key []byte) (posting, error) {
	x, err := sought(cat.damage, c, bucketLabels, key, func(b []byte) (groupSet, error) { return cat.parsePosting(key, b) })
	return x.p, err
}

// groupOfKey decodes the end of a key: class and group.
func groupOfKey(b []byte) groupID {
	return groupID{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// storedPosting checks and decodes an entry of the label index.
func (cat *catalogue) storedPosting(k, v []byte) (id groupID, p posting, err error) {
	x, err := decoded(cat.damage, bucketLabels, k, v, func(b []byte) (groupSet, error) { return cat.parsePosting(k, b) })
	return x.id, x.p, err
}

// parsePosting decodes an entry of the label index. The key is name, 0, value, 0, class, group.
func (cat *catalogue) parsePosting(k, b []byte) (x groupSet, err error) {
	at := len(k) - 8
	if at < 2 || k[at-1] != 0 || bytes.Count(k[:at], zeroByte) != 2 {
		return x, record.ErrParse
	}
	x.id = groupOfKey(k[at:])
	if _, err := cat.groupAt(x.id.class, x.id.group); err != nil {
		return x, record.ErrParse
	}
	x.p, err = decodePosting(b)
	return x, err
}

// indexed yields the labels under which the index has a series: see the top of this file. A label
// with an empty value counts as missing.
func (rec *seriesRecord) indexed() iter.Seq[Label] {
	return func(yield func(Label) bool) {
		if rec.def == 0 || !yield(Label{}) || !yield(definitionLabel(rec.def)) {
			return
		}
		for _, l := range rec.labels {
			if l.Value != "" && (!yield(Label{Name: l.Name}) || !yield(l)) {
				return
			}
		}
	}
}

// definitionLabel is the label under which the index has the series of a definition.
func definitionLabel(def uint32) Label { return Label{Value: strconv.FormatUint(uint64(def), 10)} }

func labelKey(l Label) []byte {
	return appendLabelKey(make([]byte, 0, len(l.Name)+len(l.Value)+10), l)
}

func appendLabelKey(dst []byte, l Label) []byte {
	dst = append(append(dst, l.Name...), 0)
	return append(append(dst, l.Value...), 0)
}

type groupID struct{ class, group uint32 }

// compare orders groups.
func (a groupID) compare(b groupID) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.group, b.group))
}

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
