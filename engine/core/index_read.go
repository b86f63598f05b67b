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
	passed *passedOver
	read   int    // entries so far
	value  string // at which values is
	enough bool   // the walk of values ends
	err    error  // ctx's
}

// view runs fn with a reader of the index.
func (cat *catalogue) view(ctx context.Context, passed *passedOver, fn func(r *indexReader)) error {
	return cat.db.View(bucketLabels, func(tx *boltfile.Tx) error {
		r := &indexReader{ctx: ctx, cat: cat, tx: tx, passed: passed}
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

// A postingList is the entries of one label in the index, as it is read.
type postingList struct {
	r      *indexReader
	cursor *boltfile.Cursor
	key    []byte // of the label; what follows is class and group
	k, v   []byte // the entry at hand; k is nil behind the last one
}

func (r *indexReader) list(l Label) *postingList {
	return r.listFrom(l, groupID{})
}

// listFrom returns the list of a label from a group on.
func (r *indexReader) listFrom(l Label, id groupID) *postingList {
	x := &postingList{r: r, cursor: r.tx.Bucket(bucketLabels).Cursor(), key: labelKey(l)}
	first := x.key
	if id != (groupID{}) {
		first = x.keyOf(id)
	}
	x.settle(x.cursor.Seek(first))
	return x
}

// keyOf returns the key of a group. It is valid until the next call.
func (x *postingList) keyOf(id groupID) []byte {
	return groupKey(x.key, id.class, id.group) // labelKey has left room for it
}

// settle takes an entry of the cursor, if it belongs to the label.
func (x *postingList) settle(k, v []byte) {
	if x.k, x.v = k, v; len(k) != len(x.key)+8 || !bytes.HasPrefix(k, x.key) || !x.r.more() {
		x.other(k, v)
	}
}

// other ends the list, or passes over a damaged key within it.
func (x *postingList) other(k, v []byte) {
	for x.r.err == nil && bytes.HasPrefix(k, x.key) && len(k) != len(x.key)+8 {
		_, _, err := x.r.cat.storedPosting(k, v)
		x.r.passed.over(err)
		k, v = x.cursor.Next()
	}
	if x.k, x.v = k, v; x.r.err != nil || !bytes.HasPrefix(k, x.key) {
		x.k, x.v = nil, nil
	}
}

// group returns the group of the entry at hand.
func (x *postingList) group() groupID {
	at := x.k[len(x.key):]
	return groupID{binary.BigEndian.Uint32(at), binary.BigEndian.Uint32(at[4:])}
}

// next steps to the next entry.
func (x *postingList) next() { x.settle(x.cursor.Next()) }

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
		x.settle(x.cursor.Seek(x.keyOf(id)))
	}
}

// posting returns the series of the entry at hand. It is empty if the entry is damaged.
func (x *postingList) posting() (p posting) {
	_, p, err := x.r.cat.storedPosting(x.k, x.v)
	if x.r.passed.over(err) {
		return posting{}
	}
	return p
}

// all returns the series of a label.
func (r *indexReader) all(l Label) refSet {
	var out []groupSet
	for x := r.list(l); x.k != nil; x.next() {
		out = append(out, groupSet{x.group(), x.posting()})
	}
	return gathered(out)
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
	c := r.tx.Bucket(bucketLabels).Cursor()
	var value, past []byte // the walk has passed the keys before past
	known, taken, passed := false, false, 0
	for k, v := c.Seek(first); bytes.HasPrefix(k, first) && !r.enough && r.more(); {
		if most--; most < 0 {
			return false
		}
		if end := len(k) - 9; end < head || k[end] != 0 || !known || !bytes.Equal(k[head:end], value) {
			id, p, err := r.cat.storedPosting(k, v)
			if r.passed.over(err) {
				k, v = c.Next()
				continue
			}
			value, known, passed = append(value[:0], k[head:end]...), true, 0
			r.value = string(value)
			if taken = r.value != "" && take(r.value); taken {
				taken = entry(id, &p)
			}
		} else if taken {
			id, p, err := r.cat.storedPosting(k, v)
			if !r.passed.over(err) {
				taken = entry(id, &p)
			}
		}
		if passed++; taken || passed <= nearSteps {
			k, v = c.Next()
			continue
		}
		// A damaged key that is out of order may lead back to a value that came before.
		next := append(append(append([]byte(nil), k[:head]...), value...), 1)
		if bytes.Compare(next, past) <= 0 {
			k, v = c.Next()
			continue
		}
		past = next
		k, v = c.Seek(past)
	}
	return true
}

// everything returns all series, and notes as damage if they are not as many as were written.
func (r *indexReader) everything() refSet {
	set := r.all(Label{})
	count, err := metaNumber(r.tx, metaCount)
	if n := uint64(set.len()); err == nil && count != n && r.err == nil {
		err = &DamageError{Bucket: string(bucketLabels), Err: fmt.Errorf("%d series, not the %d that were written", n, count)}
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		r.err = err
	}
	r.passed.over(err)
	return set
}
