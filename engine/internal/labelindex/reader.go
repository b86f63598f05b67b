package labelindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/match"
	"github.com/rondo-db/rondo/engine/internal/table"
)

// A Reader reads the label index within one transaction. Lists of the index are in order of class
// and group, so that several lists are read side by side: each jumps to where the others are.
type Reader struct {
	Context context.Context
	Tx      *boltfile.Tx
	Changes table.View[Change] // taken before Tx was begun
	Skipped *damage.Skipped    // gets damage that the reader passes over

	// Entry checks and decodes an entry of the database.
	Entry func(k, v []byte) (GroupSet, error)
	// Series returns how many series the database has.
	Series func() (uint64, error)
	// Below returns the series at and below folders. It reads at most most names, and calls More
	// for each; whole is false if there are more.
	Below func(folders []string, most int) (set Set, whole bool)

	Read   int    // entries so far
	Enough bool   // ends the walk of Values
	Err    error  // the context's
	stored uint64 // series that entries of the database name so far
}

// More counts one more entry, and reports whether the caller shall go on.
func (r *Reader) More() bool {
	if r.Read++; r.Read%1024 == 0 && r.Err == nil {
		r.Err = r.Context.Err()
	}
	return r.Err == nil
}

// posting returns the entry of the index that c is at. ok is false if it is damaged.
func (r *Reader) posting(c *table.Cursor[Change]) (id Group, p Posting, ok bool) {
	if c.InDB {
		x, err := r.Entry(c.Key, c.Value)
		if r.Skipped.Skip(err) && c.Change == nil {
			return id, p, false
		}
		id, p = x.ID, x.P
		r.stored += uint64(p.Count())
	}
	if c.Change != nil {
		id = groupOfKey(c.Key)
		c.Change.Apply(&p)
	}
	return id, p, true
}

// A postingList is the entries of one label in the index, as it is read.
type postingList struct {
	r      *Reader
	cursor table.Cursor[Change]
	key    []byte // of the label; what follows is class and group
	k      []byte // the key of the entry at hand; nil behind the last one
	P      Posting
}

func (r *Reader) list(l match.Label) *postingList { return r.listFrom(l, Group{}) }

func (r *Reader) listFrom(l match.Label, id Group) *postingList {
	x := &postingList{r: r, cursor: r.Changes.Cursor(r.Tx, Bucket, r.Skipped), key: Key(l)}
	first := x.key
	if id != (Group{}) {
		first = x.keyOf(id)
	}
	x.cursor.Seek(first)
	x.settle()
	return x
}

// keyOf returns the key of a group, for which Key has left room. It is valid until the next call.
func (x *postingList) keyOf(id Group) []byte { return id.AppendKey(x.key) }

// settle takes the entry of the cursor, if it belongs to the label. It passes over damaged ones.
func (x *postingList) settle() {
	for ; bytes.HasPrefix(x.cursor.Key, x.key) && x.r.More(); x.cursor.Next() {
		if _, p, ok := x.r.posting(&x.cursor); ok && len(x.cursor.Key) == len(x.key)+8 {
			x.k, x.P = x.cursor.Key, p
			return
		}
	}
	x.cursor.End()
	x.k = nil
}

// group returns the group of the entry at hand.
func (x *postingList) group() Group { return groupOfKey(x.k) }

// next steps to the next entry.
func (x *postingList) next() {
	x.cursor.Next()
	x.settle()
}

// nearSteps is how many entries a list steps over before it seeks.
const nearSteps = 3

// seek steps to the first entry at or behind a group.
func (x *postingList) seek(id Group) {
	for range nearSteps {
		if x.k == nil || x.group().Compare(id) >= 0 {
			return
		}
		x.next()
	}
	if x.k != nil && x.group().Compare(id) < 0 {
		x.cursor.Seek(x.keyOf(id))
		x.settle()
	}
}

// join returns the series that carry all of the labels. It needs at least one label. It returns
// false if it would read more than most entries.
func (r *Reader) join(labels []match.Label, most int) (out Set, whole bool) {
	lists := make([]*postingList, len(labels))
	for i, l := range labels {
		if lists[i] = r.list(l); lists[i].k == nil {
			return nil, true
		}
	}
	first := r.Read
	for id := lists[0].group(); r.Read-first < most; {
		same := 0
		for _, x := range lists {
			if x.seek(id); x.k == nil {
				return out, true
			}
			if at := x.group(); at == id {
				same++
			} else {
				id = at
				break
			}
		}
		if same < len(lists) {
			continue
		}
		g := GroupSet{id, lists[0].P}
		for _, x := range lists[1:] {
			g.P.Keep(&x.P)
		}
		if !g.P.Empty() {
			out = append(out, g)
		}
		if lists[0].next(); lists[0].k == nil {
			return out, true
		}
		id = lists[0].group()
	}
	return nil, false
}

// within adds to out the series of set that carry a label. out has the groups of set.
func (r *Reader) within(set, out Set, l match.Label) {
	if len(set) == 0 {
		return
	}
	x := r.listFrom(l, set[0].ID)
	for at := 0; at < len(set) && x.k != nil; {
		x.seek(set[at].ID)
		if x.k == nil {
			return
		}
		var ok bool
		if at, ok = set.Find(x.group(), at); ok {
			p := x.P
			p.Keep(&set[at].P)
			out[at].P.Add(&p)
			at++
		}
	}
}

// A Within is the series that a walk over the index looks at: Set, or all.
type Within struct {
	All bool
	Set Set
}

// Any reports whether w has one of the series p of a group.
func (w *Within) Any(id Group, p Posting) bool {
	if w.All {
		return !p.Empty()
	}
	at, ok := w.Set.Find(id, 0)
	if ok {
		p.Keep(&w.Set[at].P)
	}
	return ok && !p.Empty()
}

// Names calls add with the names of labels that series of w carry.
func (r *Reader) Names(w *Within, add func(string)) {
	c := r.Changes.Cursor(r.Tx, Bucket, r.Skipped)
	var past []byte // the walk has passed the keys before this one
	for c.Seek([]byte{1}); c.Key != nil && r.More(); {
		id, p, ok := r.posting(&c)
		if !ok {
			c.Next()
			continue
		}
		name := c.Key[:bytes.IndexByte(c.Key, 0)]
		if len(c.Key) == len(name)+2+8 { // an entry of all series that carry the name
			if !w.Any(id, p) {
				c.Next()
				continue
			}
			add(string(name))
		}
		// A damaged key that is out of order may lead back to a name that came before.
		next := append(bytes.Clone(name), 1)
		if bytes.Compare(next, past) <= 0 {
			c.Next()
			continue
		}
		past = next
		c.Seek(past)
	}
}

// Values walks the values of a label name that begin with prefix, in order. take gets each value
// once, and says whether to look at its entries; entry gets these, and says whether to go on with
// the entries of the value. The walk ends early, and Values returns false, when it has read most
// entries.
func (r *Reader) Values(name, prefix string, most int, take func(v string) bool, entry func(value string, id Group, p *Posting) bool) bool {
	first := append(append([]byte(name), 0), prefix...)
	head := len(name) + 1
	c := r.Changes.Cursor(r.Tx, Bucket, r.Skipped)
	var value, past []byte // the walk has passed the keys before past
	known, taken, passed, text := false, false, 0, ""
	for c.Seek(first); bytes.HasPrefix(c.Key, first) && !r.Enough && r.More(); {
		if most--; most < 0 {
			return false
		}
		k := c.Key
		if end := len(k) - 9; end < head || k[end] != 0 || !known || !bytes.Equal(k[head:end], value) {
			id, p, ok := r.posting(&c)
			if !ok {
				c.Next()
				continue
			}
			value, known, passed = append(value[:0], k[head:end]...), true, 0
			text = string(value)
			if taken = text != "" && take(text); taken {
				taken = entry(text, id, &p)
			}
		} else if taken {
			if id, p, ok := r.posting(&c); ok {
				taken = entry(text, id, &p)
			}
		}
		if passed++; taken || passed <= nearSteps {
			c.Next()
			continue
		}
		// A damaged key that is out of order may lead back to a value that came before.
		next := append(append(append([]byte(nil), k[:head]...), value...), 1)
		if bytes.Compare(next, past) <= 0 {
			c.Next()
			continue
		}
		past = next
		c.Seek(past)
	}
	c.End()
	return true
}

// Everything returns all series, and notes as damage if the database has not as many as were
// written.
func (r *Reader) Everything() Set {
	var out []GroupSet
	before := r.stored
	for x := r.list(match.Label{}); x.k != nil; x.next() {
		out = append(out, GroupSet{x.group(), x.P})
	}
	count, err := r.Series()
	if stored := r.stored - before; err == nil && count != stored && r.Err == nil {
		err = &damage.Error{Bucket: string(Bucket), Err: fmt.Errorf("%d series, not the %d that were written", stored, count)}
	}
	if err != nil && !errors.Is(err, damage.ErrDamaged) {
		r.Err = err
	}
	r.Skipped.Skip(err)
	return Gathered(out)
}

// FilterEach is how many entries of the label index may be read for each series of a set. If more
// are needed, the records of the series are compared instead.
const FilterEach = 8

// Selected returns the series of the database that fulfil the terms. exact is false if their
// records must be compared with the matchers: reading more of the index would take longer.
func (r *Reader) Selected(terms []match.Term) (set Set, exact bool) {
	set, rest, bounded := r.labelled(terms)
	exact = true
	// Terms with known values take the least work, walks over values the most.
	for _, pass := range [...]func(t *match.Term) bool{
		func(t *match.Term) bool { return !t.Exclude && t.Takes == nil && t.Below == nil },
		func(t *match.Term) bool { return t.Below != nil },
		func(t *match.Term) bool { return t.Values != nil && !t.Exclude && t.Takes != nil },
		func(t *match.Term) bool { return !t.Exclude && t.Values == nil && t.Takes != nil },
		func(t *match.Term) bool { return t.Exclude },
	} {
		for _, t := range rest {
			if !pass(t) {
				continue
			}
			if bounded && len(set) == 0 {
				return nil, true
			}
			if !bounded && t.Exclude {
				set = r.Everything()
			}
			if bounded || t.Exclude {
				set, exact = r.narrow(set, t, exact)
			} else {
				set, _ = r.union(t, math.MaxInt)
			}
			bounded = true
		}
	}
	return set, exact
}

// fewEach is how many entries of the index are read to learn whether few say it.
const fewEach = 64

// labelled returns the series that fulfil the terms of one label each, and the terms that are left.
// bounded is false if there is no such term. If the labels are common ones, a term of the others
// that few series fulfil comes first: its groups are then looked up in the lists of the labels,
// which are not read as a whole.
func (r *Reader) labelled(terms []match.Term) (set Set, rest []*match.Term, bounded bool) {
	var labels []match.Label
	var common []*match.Term // terms of labels
	for i := range terms {
		t := &terms[i]
		if l, ok := t.One(); ok && !t.Exclude {
			labels, common = append(labels, l), append(common, t)
		} else {
			rest = append(rest, t)
		}
	}
	if len(labels) == 0 {
		return nil, rest, false
	}
	rare := func(t *match.Term) bool { return !t.Exclude }
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
func (r *Reader) union(t *match.Term, most int) (set Set, whole bool) {
	if t.Below != nil {
		return r.Below(t.Below, most)
	}
	var out []GroupSet
	if t.Values == nil {
		whole = r.Values(t.Name, t.Prefix, most, t.Takes, func(_ string, id Group, p *Posting) bool {
			out = append(out, GroupSet{id, *p})
			return true
		})
		return Gathered(out), whole
	}
	for _, v := range t.Values {
		if v == "" {
			continue
		}
		for x := r.list(match.Label{Name: t.Name, Value: v}); x.k != nil; x.next() {
			if most--; most < 0 {
				return nil, false
			}
			out = append(out, GroupSet{x.group(), x.P})
		}
	}
	return Gathered(out), true
}

// narrow returns the series of set that fulfil t. If that would take long, it returns set as it is,
// and false in place of exact.
func (r *Reader) narrow(set Set, t *match.Term, exact bool) (Set, bool) {
	if t.Below != nil {
		named, whole := r.Below(t.Below, FilterEach*set.Len())
		if !whole {
			return set, false
		}
		return set.within(named), exact
	}
	carry := make(Set, len(set)) // the series of set that carry a value of t
	for i := range set {
		carry[i].ID = set[i].ID
	}
	switch {
	case t.All:
		r.within(set, carry, match.Label{Name: t.Name})
	case t.Values != nil:
		for _, v := range t.Values {
			if v != "" {
				r.within(set, carry, match.Label{Name: t.Name, Value: v})
			}
		}
	default:
		if !r.walk(set, carry, t) {
			return set, false
		}
	}
	if t.Exclude {
		return set.without(Gathered(carry)), exact
	}
	return Gathered(carry), exact
}

// fewEntries is how many entries of a value are read in a walk. A value with more is then read by
// itself, so that the reader can jump to the groups that matter.
const fewEntries = 4

// walk adds to carry the series of set that fulfil t, whose values are not known. It returns false
// if that would take long.
func (r *Reader) walk(set, carry Set, t *match.Term) bool {
	var long []string
	at, read, last := 0, 0, ""
	whole := r.Values(t.Name, t.Prefix, FilterEach*set.Len(), t.Takes, func(value string, id Group, p *Posting) bool {
		if value != last {
			at, read, last = 0, 0, value
		}
		if read++; read > fewEntries {
			long = append(long, value)
			return false
		}
		var ok bool
		if at, ok = set.Find(id, at); ok {
			p.Keep(&set[at].P)
			carry[at].P.Add(p)
		}
		return at < len(set)
	})
	for _, v := range long {
		r.within(set, carry, match.Label{Name: t.Name, Value: v})
	}
	return whole
}
