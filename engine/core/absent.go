package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/record"
)

// A value that is found proves itself by its checksum; a key that is not found does not. Damage of a page's table of
// elements hides entries, and so does damage of a key. So before the store says that the catalogue does not have
// something, and before bbolt writes a page anew without what it cannot see, the pages near the key are checked.

// wholeAfter is how many look-ups check pages near their keys before those of the whole bucket are checked, once:
// a command makes few, a server many.
const wholeAfter = 64

// pageTrust is what is known of the pages of a bucket.
type pageTrust struct {
	asked int
	whole bool
	err   error // of any page
}

// sound checks the pages of a bucket that hold the keys from one to another, in a transaction.
func (s *Store) sound(tx *bolt.Tx, bucket, from, to []byte) error {
	d := s.db
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
	w := s.walkOf(tx, bucket, func(e *DamageError) {
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

// walkOf returns a walk of the pages of a bucket in a transaction.
func (s *Store) walkOf(tx *bolt.Tx, bucket []byte, found func(*DamageError)) *pageWalk {
	w := &pageWalk{f: s.db.current.Load().file, unfit: make(map[string]bool), bucket: string(bucket)}
	w.meta.pageSize = int64(tx.DB().Info().PageSize)
	w.meta.pages = uint64(tx.Size() / w.meta.pageSize)
	w.used = make([]uint64, w.meta.pages/64+1)
	w.report = func(bucket, what string) {
		e := &DamageError{Bucket: bucket, Err: errors.New(what)}
		s.noteDamage(e)
		found(e)
	}
	return w
}

// soundNear checks the pages that bbolt changes when it puts or deletes keys, which are sorted: it would write a damaged
// page anew without what it cannot see, and free as many pages as a damaged header claims. Each page is read once.
func (s *Store) soundNear(tx *bolt.Tx, bucket []byte, keys iter.Seq[[]byte]) (err error) {
	root := uint64(tx.Bucket(bucket).Root())
	if root == 0 {
		return s.sound(tx, bucket, nil, nil)
	}
	w := s.walkOf(tx, bucket, func(e *DamageError) { err = e })
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

// absent returns nil if a bucket does not have key, which was not found in it, and the damage where it may have been hidden.
func (s *Store) absent(tx *bolt.Tx, bucket, key []byte) error {
	if err := s.sound(tx, bucket, key, key); err != nil {
		return err
	}
	c := tx.Bucket(bucket).Cursor()
	k, v := c.Seek(key)
	if err := s.mayBe(bucket, key, k, v); err != nil {
		return err
	}
	if k == nil {
		k, v = c.Last()
	} else {
		k, v = c.Prev()
	}
	return s.mayBe(bucket, key, k, v)
}

// mayBe returns damage if what stands under k, a neighbour of the place of key, was written under key.
func (s *Store) mayBe(bucket, key, k, v []byte) error {
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
	s.noteDamage(e)
	return e
}

// prefixSound checks that no entry under prefix is hidden: the pages, and the entries before and behind it.
func (s *Store) prefixSound(tx *bolt.Tx, bucket, prefix []byte) error {
	end := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 8)...)
	if err := s.sound(tx, bucket, prefix, end); err != nil {
		return err
	}
	check := func(k, v []byte) error {
		if k == nil || bytes.HasPrefix(k, prefix) {
			return nil
		}
		_, err := openValue(bucket, k, v)
		if e, ok := errors.AsType[*DamageError](err); ok {
			s.noteDamage(e)
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
