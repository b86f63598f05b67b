// Package table reads a bucket of the database together with the changes that it does not hold yet.
//
// A Table has the newest changes of one bucket in order of their keys. A Cursor walks both as one
// bucket, so nobody else has to know how much of them the database holds.
package table

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
)

// A Change is a change of one key.
type Change[V any] struct {
	Key   string
	Value V
}

// A Log returns the operations that change a bucket and that the database does not hold yet, in
// their order, and a number that is another one, and not 0, each time that some of them left. Until
// then operations are added only.
type Log[O any] func() (ops []O, epoch uint64)

// A Table has the changes of one bucket in order of their keys. A reader brings it up to date with
// the changes since the reader before. So changes cost nothing where nobody reads.
type Table[O, V any] struct {
	// Changes returns what operations do to the bucket. Changes of one key come in their order.
	Changes func(ops []O) []Change[V]
	// Over returns both changes of one key as one.
	Over func(newer, older V) V

	mu    sync.Mutex    // guards what follows; the log is asked while it is held
	epoch uint64        // of the log, when the table was begun; 0: it is not
	done  int           // so many operations of the log are in the table
	lists [][]Change[V] // newer ones first; none is changed in place
}

// muchLonger is how many times as long as a list the next older one is at least. So there are few
// lists, and a change is copied a few times.
const muchLonger = 8

// A View is the changes of a table at one time. The zero View has none.
type View[V any] struct {
	lists [][]Change[V] // newer ones first; each in order of its keys, which are there once
	over  func(newer, older V) V
}

// ViewOf returns the view of changes, which are in order of their keys. Each key is there once.
func ViewOf[V any](changes []Change[V]) View[V] { return View[V]{lists: [][]Change[V]{changes}} }

// View returns the changes of now. Whoever reads the database beside begins the transaction later:
// a checkpoint moves changes to the database.
func (t *Table[O, V]) View(log Log[O]) View[V] {
	if ops, _ := log(); len(ops) == 0 {
		return View[V]{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ops, epoch := log()
	if t.epoch != epoch {
		t.epoch, t.done, t.lists = epoch, 0, nil
	}
	if t.done < len(ops) {
		newest, older := t.sorted(t.Changes(ops[t.done:])), t.lists
		for len(older) > 0 && len(newest) >= len(older[0])/muchLonger {
			newest, older = t.merged(newest, older[0]), older[1:]
		}
		t.done, t.lists = len(ops), append([][]Change[V]{newest}, older...)
	}
	return View[V]{t.lists, t.Over}
}

// sorted returns changes in order. It sorts them in place.
func (t *Table[O, V]) sorted(list []Change[V]) []Change[V] {
	slices.SortStableFunc(list, func(a, b Change[V]) int { return strings.Compare(a.Key, b.Key) })
	out := list[:0]
	for _, x := range list {
		if n := len(out); n > 0 && out[n-1].Key == x.Key {
			out[n-1].Value = t.Over(x.Value, out[n-1].Value)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// merged returns two lists as one.
func (t *Table[O, V]) merged(newer, older []Change[V]) []Change[V] {
	out := make([]Change[V], 0, len(newer)+len(older))
	for len(newer) > 0 && len(older) > 0 {
		switch c := strings.Compare(newer[0].Key, older[0].Key); {
		case c < 0:
			out, newer = append(out, newer[0]), newer[1:]
		case c > 0:
			out, older = append(out, older[0]), older[1:]
		default:
			out = append(out, Change[V]{newer[0].Key, t.Over(newer[0].Value, older[0].Value)})
			newer, older = newer[1:], older[1:]
		}
	}
	return append(append(out, newer...), older...)
}

// Release forgets everything: the next reader begins anew.
func (t *Table[O, V]) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch, t.lists = 0, nil
}

// A Cursor walks the keys of a table in order. Removed keys are among them.
type Cursor[V any] struct {
	Key    []byte // at hand, until the next step; nil behind the last one
	Value  []byte // what the database has under Key, if InDB
	InDB   bool   // else only the changes have Key
	Change *V     // of Key; nil: what the database has counts

	db      *boltfile.Cursor
	newer   *steps[V] // nil: the table has no changes
	bucket  []byte
	skipped *damage.Skipped // gets damage beside the way
}

// Steps is where a cursor is in the changes of a table.
type steps[V any] struct {
	View[V]
	k, v []byte // where the database is
	at   []int  // where lists are
	key  []byte // room for Cursor.Key
	both V      // the same for Cursor.Change
}

// Cursor returns a cursor over a bucket with the changes of v.
func (v *View[V]) Cursor(tx *boltfile.Tx, bucket []byte, skipped *damage.Skipped) Cursor[V] {
	c := Cursor[V]{db: tx.Bucket(bucket).Cursor(), bucket: bucket, skipped: skipped}
	if len(v.lists) > 0 {
		c.newer = &steps[V]{View: *v, at: make([]int, len(v.lists))}
	}
	return c
}

// A flipped bit in a key leaves its entry where it was, and a search that misses it ends beside it.
// So the entry before the place of a seek is checked, and the one at which a walk ends.

// beside checks an entry of the database that the walk does not use.
func (c *Cursor[V]) beside(k, v []byte) {
	_, err := boltfile.OpenValue(c.bucket, k, v)
	c.skipped.Skip(err)
}

// End checks the entry at which a walk ends.
func (c *Cursor[V]) End() {
	k, v := c.Key, c.Value
	if c.newer != nil {
		k, v = c.newer.k, c.newer.v
	}
	if k != nil {
		c.beside(k, v)
	}
}

// Seek steps to the first key at or behind key.
func (c *Cursor[V]) Seek(key []byte) {
	k, v := c.db.Seek(key)
	if !bytes.Equal(k, key) {
		if before, value := c.db.Prev(); before != nil {
			c.beside(before, value)
			c.db.Next()
		}
	}
	if c.newer == nil {
		c.Key, c.Value, c.InDB = k, v, k != nil
		return
	}
	x := c.newer
	for i, list := range x.lists {
		x.at[i], _ = slices.BinarySearchFunc(list, string(key), func(x Change[V], key string) int { return strings.Compare(x.Key, key) })
	}
	x.k, x.v = k, v
	c.settle()
}

// Next steps to the next key.
func (c *Cursor[V]) Next() {
	x := c.newer
	if x == nil {
		c.Key, c.Value = c.db.Next()
		c.InDB = c.Key != nil
		return
	}
	for i, list := range x.lists {
		if x.at[i] < len(list) && list[x.at[i]].Key == string(c.Key) {
			x.at[i]++
		}
	}
	if c.InDB {
		x.k, x.v = c.db.Next()
	}
	c.settle()
}

// settle takes the first of the keys where the database and the changes are.
func (c *Cursor[V]) settle() {
	x := c.newer
	c.Key, c.Value, c.InDB, c.Change = x.k, x.v, x.k != nil, nil
	for i, list := range x.lists {
		if x.at[i] == len(list) {
			continue
		}
		change := &list[x.at[i]]
		switch {
		case c.Key == nil || change.Key < string(c.Key):
			x.key = append(x.key[:0], change.Key...)
			c.Key, c.Value, c.InDB, c.Change = x.key, nil, false, &change.Value
		case change.Key > string(c.Key):
		case c.Change == nil:
			c.Change = &change.Value
		default:
			x.both = x.over(*c.Change, change.Value)
			c.Change = &x.both
		}
	}
}

// Has reports whether the key at hand begins with prefix.
func (c *Cursor[V]) Has(prefix string) bool {
	return c.Key != nil && bytes.HasPrefix(c.Key, []byte(prefix))
}
