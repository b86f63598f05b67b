package core

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/internal/record"
)

// The names and the label index are tables: buckets of the database with what the newest changes of
// the catalogue do to them. A tableCursor reads both as one bucket. So nobody else has to know how
// much of the catalogue the database holds.

// A tableChange is a change of one key.
type tableChange[V any] struct {
	key   string
	value V
}

// A table has the changes of one bucket in order of their keys. A reader brings it up to date with
// the changes since the reader before. So changes cost nothing where nobody reads.
type table[V any] struct {
	of   func(ops []catOp) []tableChange[V] // changes of one key come in order of the ops
	over func(newer, older V) V             // both changes of one key as one

	mu    sync.Mutex        // guards what follows; catalogue.mu is taken while it is held
	epoch uint64            // catalogue.forgotten, when the table was begun; 0: it is not
	done  int               // so many of the catalogue's ops are in the table
	lists []tableChanges[V] // newer ones first; none is changed in place
}

// tableChanges are in order of their keys. Each key is there once.
type tableChanges[V any] []tableChange[V]

// muchLonger is how many times as long as a list the next older one is at least. So there are few
// lists, and a change is copied a few times.
const muchLonger = 8

// A tableView is the changes of a table at one time.
type tableView[V any] struct {
	lists []tableChanges[V] // newer ones first
	over  func(newer, older V) V
}

// view returns the changes of now. Whoever reads the database beside begins the transaction later:
// a checkpoint moves changes to the database.
func (t *table[V]) view(cat *catalogue) tableView[V] {
	cat.mu.RLock()
	none := len(cat.ops) == 0
	cat.mu.RUnlock()
	if none {
		return tableView[V]{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	cat.mu.RLock()
	ops, epoch := cat.ops, cat.forgotten
	cat.mu.RUnlock()
	if t.epoch != epoch {
		t.epoch, t.done, t.lists = epoch, 0, nil
	}
	if t.done < len(ops) {
		newest, older := t.sorted(t.of(ops[t.done:])), t.lists
		for len(older) > 0 && len(newest) >= len(older[0])/muchLonger {
			newest, older = t.merged(newest, older[0]), older[1:]
		}
		t.done, t.lists = len(ops), append([]tableChanges[V]{newest}, older...)
	}
	return tableView[V]{t.lists, t.over}
}

// sorted returns changes in order. It sorts them in place.
func (t *table[V]) sorted(list []tableChange[V]) tableChanges[V] {
	slices.SortStableFunc(list, func(a, b tableChange[V]) int { return strings.Compare(a.key, b.key) })
	out := list[:0]
	for _, x := range list {
		if n := len(out); n > 0 && out[n-1].key == x.key {
			out[n-1].value = t.over(x.value, out[n-1].value)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// merged returns two lists as one.
func (t *table[V]) merged(newer, older tableChanges[V]) tableChanges[V] {
	out := make(tableChanges[V], 0, len(newer)+len(older))
	for len(newer) > 0 && len(older) > 0 {
		switch c := strings.Compare(newer[0].key, older[0].key); {
		case c < 0:
			out, newer = append(out, newer[0]), newer[1:]
		case c > 0:
			out, older = append(out, older[0]), older[1:]
		default:
			out = append(out, tableChange[V]{newer[0].key, t.over(newer[0].value, older[0].value)})
			newer, older = newer[1:], older[1:]
		}
	}
	return append(append(out, newer...), older...)
}

// release forgets everything: the next reader begins anew.
func (t *table[V]) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch, t.lists = 0, nil
}

// A tableCursor walks the keys of a table in order. Removed keys are among them.
type tableCursor[V any] struct {
	db     *boltfile.Cursor
	key    []byte         // at hand, until the next step; nil behind the last one
	value  []byte         // what the database has under key, if inDB
	inDB   bool           // else only newer has key
	change *V             // of key; nil: what the database has counts
	newer  *tableSteps[V] // nil: the table has no changes

	bucket []byte
	passed *passedOver // gets damage beside the way
}

// A tableSteps is where a cursor is in the changes of a table.
type tableSteps[V any] struct {
	tableView[V]
	k, v []byte // where the database is
	at   []int  // where lists are
	key  []byte // room for tableCursor.key
	both V      // the same for change
}

// cursor returns a cursor over a bucket with the changes of v.
func (v *tableView[V]) cursor(tx *boltfile.Tx, bucket []byte, passed *passedOver) tableCursor[V] {
	c := tableCursor[V]{db: tx.Bucket(bucket).Cursor(), bucket: bucket, passed: passed}
	if len(v.lists) > 0 {
		c.newer = &tableSteps[V]{tableView: *v, at: make([]int, len(v.lists))}
	}
	return c
}

// A flipped bit in a key leaves its entry where it was, and a search that misses it ends beside it.
// So the entry before the place of a seek is checked, and the one at which a walk ends.

// beside checks an entry of the database that the walk does not use.
func (c *tableCursor[V]) beside(k, v []byte) {
	if _, err := record.CutSum(v, c.bucket, k); err != nil {
		c.passed.over(damage.InValue(c.bucket, k, err))
	}
}

// end checks the entry at which a walk ends.
func (c *tableCursor[V]) end() {
	k, v := c.key, c.value
	if c.newer != nil {
		k, v = c.newer.k, c.newer.v
	}
	if k != nil {
		c.beside(k, v)
	}
}

// seek steps to the first key at or behind key.
func (c *tableCursor[V]) seek(key []byte) {
	k, v := c.db.Seek(key)
	if !bytes.Equal(k, key) {
		if before, value := c.db.Prev(); before != nil {
			c.beside(before, value)
			c.db.Next()
		}
	}
	if c.newer == nil {
		c.key, c.value, c.inDB = k, v, k != nil
		return
	}
	x := c.newer
	for i, list := range x.lists {
		x.at[i], _ = slices.BinarySearchFunc(list, string(key), func(x tableChange[V], key string) int { return strings.Compare(x.key, key) })
	}
	x.k, x.v = k, v
	c.settle()
}

// next steps to the next key.
func (c *tableCursor[V]) next() {
	x := c.newer
	if x == nil {
		c.key, c.value = c.db.Next()
		c.inDB = c.key != nil
		return
	}
	for i, list := range x.lists {
		if x.at[i] < len(list) && list[x.at[i]].key == string(c.key) {
			x.at[i]++
		}
	}
	if c.inDB {
		x.k, x.v = c.db.Next()
	}
	c.settle()
}

// settle takes the first of the keys where the database and the changes are.
func (c *tableCursor[V]) settle() {
	x := c.newer
	c.key, c.value, c.inDB, c.change = x.k, x.v, x.k != nil, nil
	for i, list := range x.lists {
		if x.at[i] == len(list) {
			continue
		}
		change := &list[x.at[i]]
		switch {
		case c.key == nil || change.key < string(c.key):
			x.key = append(x.key[:0], change.key...)
			c.key, c.value, c.inDB, c.change = x.key, nil, false, &change.value
		case change.key > string(c.key):
		case c.change == nil:
			c.change = &change.value
		default:
			x.both = x.over(*c.change, change.value)
			c.change = &x.both
		}
	}
}

// has reports whether the key at hand begins with prefix.
func (c *tableCursor[V]) has(prefix string) bool {
	return c.key != nil && bytes.HasPrefix(c.key, []byte(prefix))
}

// nameChanges returns what changes do to the bucket names; 0: the name is no series any more.
func nameChanges(ops []catOp) []tableChange[Ref] {
	out := make([]tableChange[Ref], 0, len(ops))
	for i := range ops {
		o := &ops[i]
		if key, ok := o.freed(); ok {
			out = append(out, tableChange[Ref]{key, 0})
		}
		out = append(out, tableChange[Ref]{o.key, o.holder()})
	}
	return out
}

// A postingChange is what changes do to an entry of the label index. A series is in one at most.
type postingChange struct{ set, clear posting }

func (x *postingChange) apply(p *posting) {
	p.remove(&x.clear)
	p.add(&x.set)
}

// over returns x after older as one change.
func (x postingChange) over(older postingChange) postingChange {
	x.apply(&older.set)
	older.clear.add(&x.clear)
	older.clear.remove(&x.set)
	return older
}

// labelChanges returns what changes do to the bucket labels.
func (cat *catalogue) labelChanges(ops []catOp) []tableChange[postingChange] {
	var out []tableChange[postingChange]
	for id, labels := range cat.postingChanges(ops) {
		for l, x := range labels {
			out = append(out, tableChange[postingChange]{string(groupKey(labelKey(l), id.class, id.group)), *x})
		}
	}
	return out
}

// postingChanges returns what changes do to the label index, by group and label.
func (cat *catalogue) postingChanges(ops []catOp) map[groupID]map[Label]*postingChange {
	groups := make(map[groupID]map[Label]*postingChange)
	var at groupID
	var labels map[Label]*postingChange // groups[at]
	var free []postingChange
	of := func(l Label) *postingChange {
		x := labels[l]
		if x == nil {
			if len(free) == 0 {
				free = make([]postingChange, 64)
			}
			x, free = &free[0], free[1:]
			labels[l] = x
		}
		return x
	}
	for i := range ops {
		o := &ops[i]
		if !o.relabels() {
			continue
		}
		c := cat.class(o.ref.class())
		n := c.index(o.ref.number())
		if id := c.groupOf(o.ref.number()); labels == nil || id != at {
			if at, labels = id, groups[id]; labels == nil {
				labels = make(map[Label]*postingChange)
				groups[id] = labels
			}
		}
		if o.old != nil {
			for l := range o.old.indexed() {
				x := of(l)
				x.clear.set(n)
				x.set.clear(n)
			}
		}
		if o.add != nil {
			for l := range o.add.indexed() {
				x := of(l)
				x.set.set(n)
				x.clear.clear(n)
			}
		}
	}
	return groups
}
