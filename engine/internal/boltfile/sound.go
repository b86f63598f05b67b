package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
)

// A checksum proves a value that is found. Nothing proves that a key does not exist: damage of a
// page's table of elements hides entries, and so does damage of a key. So the pages near a key are
// checked before the store says that the key does not exist. They are also checked before bbolt
// rewrites them, which it would do without the entries that it cannot see.

// wholeAfter is how many look-ups in a bucket check only the pages near their keys. The next one
// checks all pages of the bucket, and later ones check none. A command makes few look-ups, a server
// many.
const wholeAfter = 64

// Sound checks the pages of bucket that may hold keys from from to to. The error is a
// *damage.Error.
func (t *Tx) Sound(bucket, from, to []byte) error {
	_, err := t.sound(bucket, from, to)
	return err
}

// SoundKeys is Sound for each of keys.
func (t *Tx) SoundKeys(bucket []byte, keys iter.Seq[[]byte]) error {
	for k := range keys {
		if whole, err := t.sound(bucket, k, k); err != nil || whole {
			return err
		}
	}
	return nil
}

// sound is Sound. It also tells whether all pages of the bucket are checked.
func (t *Tx) sound(bucket, from, to []byte) (whole bool, err error) {
	t.file.trustMu.Lock()
	defer t.file.trustMu.Unlock()
	if t.file.trusted == nil {
		t.file.trusted = make(map[string]*pageTrust)
	}
	known := t.file.trusted[string(bucket)]
	if known == nil {
		known = new(pageTrust)
		t.file.trusted[string(bucket)] = known
	}
	if known.whole || known.err != nil {
		return known.whole, known.err
	}
	known.asked++
	known.whole = known.asked > wholeAfter
	w := t.walkOf(bucket, func(e *damage.Error) {
		if known.err == nil {
			known.err = e
		}
	})
	if !known.whole {
		w.within = &[2][]byte{from, to}
	}
	if root := uint64(t.tx.Bucket(bucket).Root()); root != 0 {
		w.tree(root, false)
		return known.whole, known.err
	}
	w.within = nil // the bucket is kept inside of a page of the bucket of buckets
	w.only = string(bucket)
	w.bucket = ""
	w.tree(uint64(t.tx.Cursor().Bucket().Root()), true)
	known.whole = true
	return true, known.err
}

// walkOf returns a walk over the pages of a bucket as t sees them. found is called with damage.
func (t *Tx) walkOf(bucket []byte, found func(*damage.Error)) *pageWalk {
	w := &pageWalk{f: t.from.file, unfit: make(map[string]bool), bucket: string(bucket)}
	w.meta.pageSize = int64(t.tx.DB().Info().PageSize)
	w.meta.pages = uint64(t.tx.Size() / w.meta.pageSize)
	w.used = newPageSet(w.meta.pages)
	w.report = func(bucket, what string) {
		e := &damage.Error{Bucket: bucket, Err: errors.New(what)}
		t.file.options.Damage.Note(e)
		found(e)
	}
	return w
}

// SoundNear checks the pages that bbolt changes when it puts or deletes keys, which are sorted.
// bbolt would rewrite a damaged page without the entries that it cannot see, and free as many pages
// as a damaged header claims. SoundNear reads each page once. The error is a *damage.Error.
func (t *Tx) SoundNear(bucket []byte, keys iter.Seq[[]byte]) (err error) {
	root := uint64(t.tx.Bucket(bucket).Root())
	if root == 0 {
		return t.Sound(bucket, nil, nil)
	}
	w := t.walkOf(bucket, func(e *damage.Error) { err = e })
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

// Absent returns nil if bucket certainly does not hold key, which the caller did not find there. If
// damage may hide the key, it returns the damage.
func (t *Tx) Absent(bucket, key []byte) error {
	f := t.Finder(bucket)
	k, v := f.cursor.Seek(key)
	return f.absent(key, k, v)
}

// A Finder looks up many keys of one bucket. A change of the bucket ends its use.
type Finder struct {
	tx     *Tx
	bucket []byte
	cursor *bolt.Cursor
}

// Finder returns a Finder of a bucket.
func (t *Tx) Finder(bucket []byte) Finder {
	return Finder{tx: t, bucket: bucket, cursor: t.tx.Bucket(bucket).Cursor()}
}

// Find returns the raw value of key, or nil if the bucket certainly does not hold key. If damage
// may hide the key, it returns the damage.
func (f *Finder) Find(key []byte) ([]byte, error) {
	k, v := f.cursor.Seek(key)
	if v != nil && bytes.Equal(k, key) {
		return v, nil
	}
	return nil, f.absent(key, k, v)
}

// absent is Absent. k and v are the entry at or behind the place of key, where the cursor stands.
func (f *Finder) absent(key, k, v []byte) error {
	if err := f.tx.Sound(f.bucket, key, key); err != nil {
		return err
	}
	if err := f.tx.mayBe(f.bucket, key, k, v); err != nil {
		return err
	}
	if k == nil {
		k, v = f.cursor.Last()
	} else {
		k, v = f.cursor.Prev()
	}
	return f.tx.mayBe(f.bucket, key, k, v)
}

// mayBe returns damage if k and v, the entry before or behind the place of key, were written as the
// entry of key.
func (t *Tx) mayBe(bucket, key, k, v []byte) error {
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
	e := damage.InValue(bucket, k, record.ErrSum)
	t.file.options.Damage.Note(e)
	return e
}

// PrefixSound checks that no entry under prefix is hidden. It checks the pages, and the entries
// before and behind the prefix. The error is a *damage.Error.
func (t *Tx) PrefixSound(bucket, prefix []byte) error {
	end := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 8)...)
	if err := t.Sound(bucket, prefix, end); err != nil {
		return err
	}
	check := func(k, v []byte) error {
		if k == nil || bytes.HasPrefix(k, prefix) {
			return nil
		}
		_, err := OpenValue(bucket, k, v)
		if e, ok := errors.AsType[*damage.Error](err); ok {
			t.file.options.Damage.Note(e)
		}
		return err
	}
	c := t.tx.Bucket(bucket).Cursor()
	if k, _ := c.Seek(prefix); k == nil {
		return check(c.Last())
	}
	before := check(c.Prev())
	k, v := c.Seek(end)
	return errors.Join(before, check(k, v))
}
