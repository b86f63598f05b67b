// Package labelindex reads and codes the label index of the database: which series carry a label.
package labelindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"

	"github.com/rondo-db/rondo/engine/internal/match"
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

// Bucket is the bucket of the label index.
var Bucket = []byte("labels")

// zeroByte stands between the strings of a key.
var zeroByte = []byte{0}

// GroupSize is how many series a group has at most.
const GroupSize = 256

// A Posting is the series of one group that carry a label, as a bitmap of their indices.
type Posting [GroupSize / 64]uint64

// Set adds the series at index i.
func (p *Posting) Set(i int) { p[i/64] |= 1 << (i % 64) }

// Clear removes the series at index i.
func (p *Posting) Clear(i int) { p[i/64] &^= 1 << (i % 64) }

// Count returns the number of series.
func (p *Posting) Count() (n int) {
	for _, w := range p {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty reports whether p has no series.
func (p *Posting) Empty() bool { return *p == Posting{} }

// Add adds the series of q.
func (p *Posting) Add(q *Posting) {
	for i := range p {
		p[i] |= q[i]
	}
}

// Keep removes all series that are not in q.
func (p *Posting) Keep(q *Posting) {
	for i := range p {
		p[i] &= q[i]
	}
}

// Remove removes the series of q.
func (p *Posting) Remove(q *Posting) {
	for i := range p {
		p[i] &^= q[i]
	}
}

// Append codes p: a byte an index where there are fewer than 32, else 32 bytes of bitmap.
func (p *Posting) Append(dst []byte) []byte {
	if p.Count() < 32 {
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

// DecodePosting decodes what Append has coded. The error is [record.ErrParse].
func DecodePosting(b []byte) (p Posting, err error) {
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
		p.Set(int(i))
	}
	return p, nil
}

// OfDefinition returns the label under which the index has the series of a definition.
func OfDefinition(def uint32) match.Label {
	return match.Label{Value: strconv.FormatUint(uint64(def), 10)}
}

// Key returns how the keys of a label begin, with room for a group behind it.
func Key(l match.Label) []byte {
	return AppendKey(make([]byte, 0, len(l.Name)+len(l.Value)+10), l)
}

// AppendKey appends how the keys of a label begin.
func AppendKey(dst []byte, l match.Label) []byte {
	dst = append(append(dst, l.Name...), 0)
	return append(append(dst, l.Value...), 0)
}

// Parse decodes an entry of the index whose checksum was checked. The caller checks that the group
// exists. The error is [record.ErrParse].
func Parse(k, b []byte) (x GroupSet, err error) {
	at := len(k) - 8
	if at < 2 || k[at-1] != 0 || bytes.Count(k[:at], zeroByte) != 2 {
		return x, record.ErrParse
	}
	x.ID = groupOfKey(k)
	x.P, err = DecodePosting(b)
	return x, err
}

// LabelOf returns the label of a key that Parse has taken.
func LabelOf(k []byte) match.Label {
	name, rest, _ := bytes.Cut(k, zeroByte)
	value, _, _ := bytes.Cut(rest, zeroByte)
	return match.Label{Name: string(name), Value: string(value)}
}

// groupOfKey decodes the end of a key.
func groupOfKey(k []byte) Group {
	b := k[len(k)-8:]
	return Group{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// A Group names a group of series by the numbers of its class and its own.
type Group struct{ Class, Number uint32 }

// AppendKey appends a as keys of the database have it.
func (a Group) AppendKey(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, a.Class), a.Number)
}

// Compare orders groups.
func (a Group) Compare(b Group) int {
	return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Number, b.Number))
}

// A GroupSet is some series of one group.
type GroupSet struct {
	ID Group
	P  Posting
}

// A Set is a set of series, in order of class and group. No group is there twice, and none is
// empty.
type Set []GroupSet

// Len returns the number of series.
func (s Set) Len() (n int) {
	for i := range s {
		n += s[i].P.Count()
	}
	return n
}

// Find returns the place of a group in s at or behind the place from, and whether s has the group.
// It looks near from first: callers ask for groups in order.
func (s Set) Find(id Group, from int) (int, bool) {
	step := 1
	for from+step < len(s) && s[from+step].ID.Compare(id) < 0 {
		from += step
		step *= 2
	}
	end := min(from+step+1, len(s))
	at, ok := slices.BinarySearchFunc(s[from:end], id, func(g GroupSet, id Group) int { return g.ID.Compare(id) })
	return from + at, ok
}

// without removes the series of other from s, in place.
func (s Set) without(other Set) Set {
	out, at := s[:0], 0
	for i := range s {
		g := s[i]
		if at < len(other) {
			var ok bool
			if at, ok = other.Find(g.ID, at); ok {
				g.P.Remove(&other[at].P)
			}
		}
		if !g.P.Empty() {
			out = append(out, g)
		}
	}
	return out
}

// within removes from s the series that other has not, in place.
func (s Set) within(other Set) Set {
	out, at := s[:0], 0
	for i := range s {
		g, ok := s[i], false
		if at, ok = other.Find(g.ID, at); !ok {
			continue
		}
		if g.P.Keep(&other[at].P); !g.P.Empty() {
			out = append(out, g)
		}
	}
	return out
}

// Gathered returns the set of groups that come in any order. A group may come several times. It
// sorts groups in place.
func Gathered(groups []GroupSet) Set {
	byID := func(a, b GroupSet) int { return a.ID.Compare(b.ID) }
	if !slices.IsSortedFunc(groups, byID) {
		slices.SortFunc(groups, byID)
	}
	out := groups[:0]
	for i := range groups {
		switch n := len(out); {
		case groups[i].P.Empty():
		case n > 0 && out[n-1].ID == groups[i].ID:
			out[n-1].P.Add(&groups[i].P)
		default:
			out = append(out, groups[i])
		}
	}
	return out
}

// A Change is what changes of the catalogue do to an entry of the index. A series is in one of both
// at most.
type Change struct{ set, clear Posting }

// Add puts the series at index i into the entry.
func (x *Change) Add(i int) {
	x.set.Set(i)
	x.clear.Clear(i)
}

// Remove takes the series at index i out of the entry.
func (x *Change) Remove(i int) {
	x.clear.Set(i)
	x.set.Clear(i)
}

// Apply changes p as x says.
func (x *Change) Apply(p *Posting) {
	p.Remove(&x.clear)
	p.Add(&x.set)
}

// Over returns x after older as one change.
func (x Change) Over(older Change) Change {
	x.Apply(&older.set)
	older.clear.Add(&x.clear)
	older.clear.Remove(&x.set)
	return older
}
