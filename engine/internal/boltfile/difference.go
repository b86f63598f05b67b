package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/damage"
)

// What two transactions show differently is found by their pages. bbolt never changes a page that a
// transaction can reach, but writes another page. So a page that both reach has not changed, and
// nothing below it has. Entries of the other pages are compared, in order of their keys: a key that
// only the older transaction has there was deleted. The key cannot have moved to a page that both
// reach, because the older transaction would then have it twice.
//
// The pages are read from the file and checked, as a walk does it. Values are taken as they are: a
// damaged value keeps its wrong checksum.

// buckets calls fn with the name of each bucket.
func (t *Tx) buckets(fn func(name []byte) error) error {
	return t.tx.ForEach(func(name []byte, _ *bolt.Bucket) error { return fn(bytes.Clone(name)) })
}

// A change puts a raw value into a bucket, or deletes a key.
type change struct {
	bucket, k, v []byte
	deletes      bool
}

// difference calls add with each change that makes the bucket name as seen shows it what now shows.
// If seen is not open, the first change only names the bucket, which may be empty.
func difference(seen, now *Tx, name []byte, add func(change) error) error {
	fresh := newTree(now, name)
	old := &tree{}
	if seen.Open() {
		old = newTree(seen, name)
		if fresh.root != 0 && fresh.root == old.root {
			return nil
		}
	} else if err := add(change{bucket: name}); err != nil {
		return err
	}
	if err := errors.Join(fresh.collect(), old.collect()); err != nil {
		return err
	}
	next, stop := iter.Pull(old.entries(fresh.pages))
	defer stop()
	gone, more := next()
	deleted := func(k []byte) error { // keys of old below k
		for more && (k == nil || bytes.Compare(gone.k, k) < 0) {
			if err := add(change{bucket: name, k: gone.k, deletes: true}); err != nil {
				return err
			}
			gone, more = next()
		}
		return nil
	}
	for e := range fresh.entries(old.pages) {
		if err := deleted(e.k); err != nil {
			return err
		}
		if more && bytes.Equal(gone.k, e.k) {
			same := bytes.Equal(gone.v, e.v)
			if gone, more = next(); same {
				continue
			}
		}
		if err := add(change{bucket: name, k: e.k, v: e.v}); err != nil {
			return err
		}
	}
	return errors.Join(deleted(nil), fresh.err, old.err)
}

// A tree is the pages of a bucket as a transaction shows them. The zero tree is empty.
type tree struct {
	tx    *Tx
	name  []byte
	root  uint64 // 0: the bucket is kept inside of a page of the bucket of buckets
	walk  *pageWalk
	pages pageSet // once collect has run
	leafs int     // how many pages lead to a leaf, with it
	err   error
}

// An entry is a key and its raw value.
type entry struct{ k, v []byte }

// newTree returns the tree of a bucket; the zero tree if tx does not have the bucket.
func newTree(tx *Tx, name []byte) *tree {
	b := tx.tx.Bucket(name)
	if b == nil {
		return &tree{}
	}
	t := &tree{tx: tx, name: name, root: uint64(b.Root())}
	t.walk = tx.walkOf(name, func(*damage.Error) {})
	t.walk.again = true // overflow pages may be counted twice
	t.pages = newPageSet(t.walk.meta.pages)
	return t
}

// bad returns damage of a page.
func (t *tree) bad(id uint64, format string, args ...any) error {
	e := &damage.Error{Bucket: string(t.name), Err: fmt.Errorf("page %d: %s", id, fmt.Sprintf(format, args...))}
	t.tx.file.options.Damage.Note(e)
	return e
}

// collect notes the pages of the tree. It reads those that lead to others, and one leaf.
func (t *tree) collect() error {
	if t.root == 0 {
		return nil
	}
	return t.below(t.root, 1)
}

// below notes a page and the pages below it.
func (t *tree) below(id uint64, depth int) error {
	if id < 2 || id >= t.walk.meta.pages {
		return t.bad(id, "does not exist")
	}
	if t.pages.has(id) {
		return t.bad(id, "is reached twice")
	}
	t.pages.add(id)
	if depth == t.leafs {
		return nil
	}
	b, err := t.read(id)
	if err != nil {
		return err
	}
	if binary.NativeEndian.Uint16(b[8:]) == pageLeaf {
		t.leafs = depth
		return nil
	}
	if depth >= mostDepth {
		return t.bad(id, "%d pages lie above it", depth)
	}
	for i := range int(binary.NativeEndian.Uint16(b[10:])) {
		_, _, child := element(b, i, true)
		if err := t.below(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// read reads and checks a page.
func (t *tree) read(id uint64) ([]byte, error) {
	b, err := t.walk.read(id)
	if err != nil {
		return nil, t.bad(id, "%v", err)
	}
	branch := binary.NativeEndian.Uint16(b[8:]) == pageBranch
	if err := checkElements(b, branch, t.walk.meta.pageSize, nil, nil); err != nil {
		return nil, t.bad(id, "%v", err)
	}
	if !branch {
		if err := noBuckets(b); err != nil {
			return nil, t.bad(id, "%v", err)
		}
	}
	return b, nil
}

// entries yields the entries of the pages that are not among same, in order. It ends early with an
// error in t.err.
func (t *tree) entries(same pageSet) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		switch {
		case t.tx == nil:
		case t.root == 0:
			t.inside(yield)
		default:
			var last []byte
			t.page(t.root, same, func(e entry) bool {
				if last != nil && bytes.Compare(last, e.k) >= 0 {
					t.err = t.bad(t.root, "keys below it are out of order")
					return false
				}
				last = e.k
				return yield(e)
			})
		}
	}
}

// page yields the entries of a page, or of the pages below it. It returns false to end.
func (t *tree) page(id uint64, same pageSet, yield func(entry) bool) bool {
	if same.hasAny(id) {
		return true
	}
	b, err := t.read(id)
	if err != nil {
		t.err = err
		return false
	}
	branch := binary.NativeEndian.Uint16(b[8:]) == pageBranch
	for i := range int(binary.NativeEndian.Uint16(b[10:])) {
		k, v, child := element(b, i, branch)
		if branch && !t.page(child, same, yield) || !branch && !yield(entry{k, v}) {
			return false
		}
	}
	return true
}

// inside yields the entries of a bucket that is kept inside of a page of the bucket of buckets.
func (t *tree) inside(yield func(entry) bool) {
	if t.err = t.tx.Sound(t.name, nil, nil); t.err != nil {
		return
	}
	c := t.tx.tx.Bucket(t.name).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if !yield(entry{bytes.Clone(k), bytes.Clone(v)}) {
			return
		}
	}
}
