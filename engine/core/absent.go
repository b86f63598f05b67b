package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/record"
)

// A value that is found has a checksum that proves it. A key that is not found has nothing: damage
// of a page's table of elements hides entries, and so does damage of a key. So the pages near a key
// are checked before the store says that it does not have the key, and before bbolt writes pages
// anew without the entries that it cannot see.

// wholeAfter is how many look-ups check only the pages near their keys. The next one checks all
// pages of the bucket, and later ones none. A command makes few look-ups, a server many.
const wholeAfter = 64

// A pageTrust says what is known about the pages of a bucket.
type pageTrust struct {
	asked int
	whole bool
	err   error // damage of any page
}

// sound checks the pages of a bucket that hold the keys from one to another, in a transaction.
func (d *database) sound(tx *bolt.Tx, bucket, from, to []byte) error {
	d.trustMu.Lock()
	defer d.trustMu.Unlock()
	if d.trusted == nil {
		d.trusted = make(map[string]*pageTrust)
	}
	known := d.trusted[string(bucket)]
	if known == nil {
		known = new(pageTrust)
		d.trusted[string(bucket)] = known
	}
	if known.whole || known.err != nil {
		return known.err
	}
	known.asked++
	known.whole = known.asked > wholeAfter
	w := d.walkOf(tx, bucket, func(e *DamageError) {
		if known.err == nil {
			known.err = e
		}
	})
	if !known.whole {
		w.within = &[2][]byte{from, to}
	}
	if root := uint64(tx.Bucket(bucket).Root()); root != 0 {
		w.tree(root, false)
		return known.err
	}
	w.within = nil // the bucket is kept inside of a page of the bucket of buckets
	w.only = string(bucket)
	w.bucket = ""
	w.tree(uint64(tx.Cursor().Bucket().Root()), true)
	known.whole = true
	return known.err
}

// walkOf returns a walk over the pages of a bucket, as tx shows them. found is called with damage.
func (d *database) walkOf(tx *bolt.Tx, bucket []byte, found func(*DamageError)) *pageWalk {
	w := &pageWalk{f: d.current.Load().file, unfit: make(map[string]bool), bucket: string(bucket)}
	w.meta.pageSize = int64(tx.DB().Info().PageSize)
	w.meta.pages = uint64(tx.Size() / w.meta.pageSize)
	w.used = make([]uint64, w.meta.pages/64+1)
	w.report = func(bucket, what string) {
		e := &DamageError{Bucket: bucket, Err: errors.New(what)}
		d.damage.note(e)
		found(e)
	}
	return w
}

// soundNear checks the pages that bbolt changes when it puts or deletes keys, which are sorted: it
// would write a damaged page anew without what it cannot see, and free as many pages as a damaged
// header claims. Each page is read once.
func (d *database) soundNear(tx *bolt.Tx, bucket []byte, keys iter.Seq[[]byte]) (err error) {
	root := uint64(tx.Bucket(bucket).Root())
	if root == 0 {
		return d.sound(tx, bucket, nil, nil)
	}
	w := d.walkOf(tx, bucket, func(e *DamageError) { err = e })
	w.again, w.kept = true, make(map[uint64][]byte)
	for k := range keys {
		w.within = &[2][]byte{k, k}
		w.tree(root, false)
		if err != nil {
			return err
		}
	}
	return nil
}

// absent returns nil if a bucket does not have key, which was not found in it, and the damage where
// it may have been hidden.
func (d *database) absent(tx *bolt.Tx, bucket, key []byte) error {
	if err := d.sound(tx, bucket, key, key); err != nil {
		return err
	}
	c := tx.Bucket(bucket).Cursor()
	k, v := c.Seek(key)
	if err := d.mayBe(bucket, key, k, v); err != nil {
		return err
	}
	if k == nil {
		k, v = c.Last()
	} else {
		k, v = c.Prev()
	}
	return d.mayBe(bucket, key, k, v)
}

// mayBe returns damage if what stands under k, a neighbour of the place of key, was written under
// key.
func (d *database) mayBe(bucket, key, k, v []byte) error {
	if k == nil {
		return nil
	}
	if _, err := record.CutSum(v, bucket, k); err == nil {
		return nil
	}
	n := max(len(v)-record.SumSize, 0)
	if !bytes.HasPrefix(append(bytes.Clone(k), v...), key) && (len(v) < record.SumSize || record.Sum(bucket, key, v[:n]) != binary.LittleEndian.Uint32(v[n:])) {
		return nil
	}
	e := damagedValue(bucket, k, record.ErrSum)
	d.damage.note(e)
	return e
}

// prefixSound checks that no entry under prefix is hidden: the pages, and the entries before and
// behind it.
func (d *database) prefixSound(tx *bolt.Tx, bucket, prefix []byte) error {
	end := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 8)...)
	if err := d.sound(tx, bucket, prefix, end); err != nil {
		return err
	}
	check := func(k, v []byte) error {
		if k == nil || bytes.HasPrefix(k, prefix) {
			return nil
		}
		_, err := openValue(bucket, k, v)
		if e, ok := errors.AsType[*DamageError](err); ok {
			d.damage.note(e)
		}
		return err
	}
	c := tx.Bucket(bucket).Cursor()
	if k, _ := c.Seek(prefix); k == nil {
		return check(c.Last())
	}
	before := check(c.Prev())
	k, v := c.Seek(end)
	return errors.Join(before, check(k, v))
}
