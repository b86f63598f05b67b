package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// An indexReader reads the label index within one transaction. Lists of the index are in order of
// class and group, so that several lists are read side by side: each jumps to where the others are.
type indexReader struct {
	ctx    context.Context
	cat    *catalogue
	tx     *boltfile.Tx
	paths  tableView[Ref]
	labels tableView[postingChange]
	passed *passedOver
	read   int    // entries so far
	stored uint64 // series that entries of the database name so far
	value  string // at which values is
	enough bool   // the walk of values ends
	err    error  // ctx's
}

// view runs fn with a reader of the index.
func (cat *catalogue) view(ctx context.Context, passed *passedOver, fn func(r *indexReader)) error {
	r := &indexReader{ctx: ctx, cat: cat, passed: passed, paths: cat.nameTable.view(cat), labels: cat.labelTable.view(cat)}
	return cat.db.View(bucketLabels, func(tx *boltfile.Tx) error {
		r.tx = tx
		fn(r)
		return r.err
	})
}

// more counts one more entry, and reports whether the caller shall go on.
func (r *indexReader) more() bool {
	if r.read++; r.read%1024 == 0 && r.err == nil {
		r.err = r.ctx.Err()
	}
	return r.err == nil
}

// posting returns the entry of the label index that c is at. ok is false if it is damaged.
func (r *indexReader) posting(c *tableCursor[postingChange]) (id groupID, p posting, ok bool) {
	if c.inDB {
		var err error
		id, p, err = r.cat.storedPosting(c.key, c.value)
		if r.passed.over(err) && c.change == nil {
			return id, p, false
		}
		r.stored += uint64(p.count())
	}
	if c.change != nil {
		id = groupOfKey(c.key[len(c.key)-8:])
		c.change.apply(&p)
	}
	return id, p, true
}

// A postingList is the entries of one label in the index, as it is read.
type postingList struct {
	r      *indexReader
	cursor tableCursor[postingChange]
	key    []byte // of the label; what follows is class and group
	k      []byte // the key of the entry at hand; nil behind the last one
	p      posting
}

func (r *indexReader) list(l Label) *postingList {
	return r.listFrom(l, groupID{})
}

func (r *indexReader) listFrom(l Label, id groupID) *postingList {
	x := &postingList{r: r, cursor: r.labels.cursor(r.tx, bucketLabels, r.passed), key: labelKey(l)}
	first := x.key
	if id != (groupID{}) {
		first = x.keyOf(id)
	}
	x.cursor.seek(first)
	x.settle()
	return x
}

// keyOf returns the key of a group. It is valid until the next call.
func (x *postingList) keyOf(id groupID) []byte {
	return groupKey(x.key, id.class, id.group) // labelKey has left room for it
}

// settle takes the entry of the cursor, if it belongs to the label. It passes over damaged ones.
func (x *postingList) settle() {
	for ; bytes.HasPrefix(x.cursor.key, x.key) && x.r.more(); x.cursor.next() {
		if _, p, ok := x.r.posting(&x.cursor); ok && len(x.cursor.key) == len(x.key)+8 {
			x.k, x.p = x.cursor.key, p
			return
		}
	}
	x.cursor.end()
	x.k = nil
}

// group returns the group of the entry at hand.
func (x *postingList) group() groupID {
	return groupOfKey(x.k[len(x.key):])
}

// next steps to the next entry.
func (x *postingList) next() {
	x.cursor.next()
	x.settle()
}

// nearSteps is how many entries a list steps over before it seeks.
const nearSteps = 3

// seek steps to the first entry at or behind a group.
func (x *postingList) seek(id groupID) {
	for range nearSteps {
		if x.k == nil || x.group().compare(id) >= 0 {
			return
		}
		x.next()
	}
	if x.k != nil && x.group().compare(id) < 0 {
		x.cursor.seek(x.keyOf(id))
		x.settle()
	}
}

// join returns the series that carry all of the labels. It needs at least one label. It returns
// false if it would read more than most entries.
func (r *indexReader) join(labels []Label, most int) (out refSet, whole bool) {
	lists := make([]*postingList, len(labels))
	for i, l := range labels {
		if lists[i] = r.list(l); lists[i].k == nil {
			return nil, true
		}
	}
	first := r.read
	for id := lists[0].group(); r.read-first < most; {
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
		g := groupSet{id, lists[0].p}
		for _, x := range lists[1:] {
			g.p.keep(&x.p)
		}
		if !g.p.empty() {
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
func (r *indexReader) within(set, out refSet, l Label) {
	if len(set) == 0 {
		return
	}
	x := r.listFrom(l, set[0].id)
	for at := 0; at < len(set) && x.k != nil; {
		x.seek(set[at].id)
		if x.k == nil {
			return
		}
		var ok bool
		if at, ok = set.find(x.group(), at); ok {
			p := x.p
			p.keep(&set[at].p)
			out[at].p.add(&p)
			at++
		}
	}
}

// values walks the values of a label name that begin with prefix, in order. take gets each value
// once, and says whether to look at its entries; entry gets these, and says whether to go on with
// the entries of the value. The walk ends early, and values returns false, when it has read most
// entries.
func (r *indexReader) values(name, prefix string, most int, take func(v string) bool, entry func(id groupID, p *posting) bool) bool {
	first := append(append([]byte(name), 0), prefix...)
	head := len(name) + 1
	c := r.labels.cursor(r.tx, bucketLabels, r.passed)
	var value, past []byte // the walk has passed the keys before past
	known, taken, passed := false, false, 0
	for c.seek(first); bytes.HasPrefix(c.key, first) && !r.enough && r.more(); {
		if most--; most < 0 {
			return false
		}
		k := c.key
		if end := len(k) - 9; end < head || k[end] != 0 || !known || !bytes.Equal(k[head:end], value) {
			id, p, ok := r.posting(&c)
			if !ok {
				c.next()
				continue
			}
			value, known, passed = append(value[:0], k[head:end]...), true, 0
			r.value = string(value)
			if taken = r.value != "" && take(r.value); taken {
				taken = entry(id, &p)
			}
		} else if taken {
			if id, p, ok := r.posting(&c); ok {
				taken = entry(id, &p)
			}
		}
		if passed++; taken || passed <= nearSteps {
			c.next()
			continue
		}
		// A damaged key that is out of order may lead back to a value that came before.
		next := append(append(append([]byte(nil), k[:head]...), value...), 1)
		if bytes.Compare(next, past) <= 0 {
			c.next()
			continue
		}
		past = next
		c.seek(past)
	}
	c.end()
	return true
}

// everything returns all series, and notes as damage if the database has not as many as were
// written.
func (r *indexReader) everything() refSet {
	var out []groupSet
	before := r.stored
	for x := r.list(Label{}); x.k != nil; x.next() {
		out = append(out, groupSet{x.group(), x.p})
	}
	count, err := metaNumber(r.tx, metaCount)
	if stored := r.stored - before; err == nil && count != stored && r.err == nil {
		err = &DamageError{Bucket: string(bucketLabels), Err: fmt.Errorf("%d series, not the %d that were written", stored, count)}
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		r.err = err
	}
	r.passed.over(err)
	return gathered(out)
}

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

// fewEach is how many entries of the index are read to learn whether few say it.
const fewEach = 64

// labelled returns the series that fulfil the terms of one label each, and the terms that are left.
// bounded is false if there is no such term. If the labels are common ones, a term of the others
// that few series fulfil comes first: its groups are then looked up in the lists of the labels,
// which are not read as a whole.
func (r *indexReader) labelled(terms []term) (set refSet, rest []*term, bounded bool) {
	var labels []Label
	var common []*term // terms of labels
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
			out = append(out, groupSet{x.group(), x.p})
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

// below returns the series of the database whose path is one of the folders, or below one. It reads
// at most most names; whole is false if there are more.
func (r *indexReader) below(folders []string, most int) (set refSet, whole bool) {
	var refs []Ref
	c := r.paths.cursor(r.tx, bucketNames, r.passed)
	take := func() {
		if ref := r.cat.nameAt(&c, r.passed); ref != 0 {
			refs = append(refs, ref)
		}
	}
	for _, f := range folders {
		if c.seek([]byte(f)); string(c.key) == f {
			take()
		}
		prefix := f + "/"
		for c.seek([]byte(prefix)); c.has(prefix) && r.more(); c.next() {
			if most--; most < 0 {
				return nil, false
			}
			take()
		}
		c.end()
	}
	slices.Sort(refs)
	return r.cat.setOf(slices.Compact(refs)), true
}

// reaches reports whether a look-up key is one of the folders of m, or below one.
func (m *Matcher) reaches(key string) bool {
	for _, f := range m.Folders {
		if rest, ok := strings.CutPrefix(key, f); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
