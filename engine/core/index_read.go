package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

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
}

func (r *indexReader) list(l Label) *postingList {
	return r.listFrom(l, groupID{})
}

// listFrom returns the list of a label from a group on.
func (r *indexReader) listFrom(l Label, id groupID) *postingList {
	x := &postingList{r: r, cursor: r.labels.cursor(r.tx.Bucket(bucketLabels)), key: labelKey(l)}
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

// settle takes the entry of the cursor, if it belongs to the label. It passes over damaged keys.
func (x *postingList) settle() {
	for ; bytes.HasPrefix(x.cursor.key, x.key) && x.r.more(); x.cursor.next() {
		if len(x.cursor.key) == len(x.key)+8 {
			x.k = x.cursor.key
			return
		}
		x.r.posting(&x.cursor)
	}
	x.k = nil
}

// group returns the group of the entry at hand.
func (x *postingList) group() groupID {
	return groupOfKey(x.k[len(x.key):])
}

// groupOfKey decodes the end of a key: class and group.
func groupOfKey(b []byte) groupID {
	return groupID{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
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

// posting returns the series of the entry at hand. It is empty if the entry is damaged.
func (x *postingList) posting() posting {
	_, p, ok := x.r.posting(&x.cursor)
	if !ok {
		return posting{}
	}
	return p
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
		g := groupSet{id, lists[0].posting()}
		for _, x := range lists[1:] {
			p := x.posting()
			g.p.keep(&p)
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
			p := x.posting()
			p.keep(&set[at].p)
			out[at].p.add(&p)
			at++
		}
	}
}

// values walks the values of a label name that begin with prefix, in order. take is told each value
// once, and says whether to look at its entries; entry gets these, and says whether to go on with
// the entries of the value. The walk ends early, and values returns false, when it has read most
// entries.
func (r *indexReader) values(name, prefix string, most int, take func(v string) bool, entry func(id groupID, p *posting) bool) bool {
	first := append(append([]byte(name), 0), prefix...)
	head := len(name) + 1
	c := r.labels.cursor(r.tx.Bucket(bucketLabels))
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
	return true
}

// everything returns all series, and notes as damage if the database has not as many as were
// written.
func (r *indexReader) everything() refSet {
	var out []groupSet
	stored := uint64(0)
	for x := r.list(Label{}); x.k != nil; x.next() {
		g := groupSet{id: x.group()}
		if x.cursor.inDB {
			_, p, err := r.cat.storedPosting(x.k, x.cursor.value)
			if !r.passed.over(err) {
				stored += uint64(p.count())
				g.p = p
			}
		}
		if x.cursor.change != nil {
			x.cursor.change.apply(&g.p)
		}
		out = append(out, g)
	}
	count, err := metaNumber(r.tx, metaCount)
	if err == nil && count != stored && r.err == nil {
		err = &DamageError{Bucket: string(bucketLabels), Err: fmt.Errorf("%d series, not the %d that were written", stored, count)}
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		r.err = err
	}
	r.passed.over(err)
	return gathered(out)
}
