package boltfile

import (
	"bytes"
	"errors"
	"iter"

	"github.com/rondo-db/rondo/engine/internal/damage"
)

// A checksum proves a value that is found. Nothing proves that a key does not exist: damage of a
// page's table of elements hides entries. File.Walk, which a check uses, finds such pages. A
// look-up does not look for them. But bbolt would write a page anew without the entries that it
// cannot see, so pages are checked before they are changed.

// SoundNear checks the pages that bbolt changes when it puts or deletes keys, which are sorted. A
// damaged header would have bbolt free as many pages as it claims. SoundNear reads each page once.
// The error is a *damage.Error.
func (t *Tx) SoundNear(bucket []byte, keys iter.Seq[[]byte]) (err error) {
	w := &pageWalk{f: t.from.file, unfit: make(map[string]bool), bucket: string(bucket)}
	w.meta.pageSize = int64(t.tx.DB().Info().PageSize)
	w.meta.pages = uint64(t.tx.Size() / w.meta.pageSize)
	w.used = newPageSet(w.meta.pages)
	w.report = func(bucket, what string) {
		e := &damage.Error{Bucket: bucket, Err: errors.New(what)}
		t.file.options.Damage.Note(e)
		if err == nil {
			err = e
		}
	}
	root := uint64(t.tx.Bucket(bucket).Root())
	if root == 0 { // the bucket is kept inside of a page of the bucket of buckets
		w.only, w.bucket = string(bucket), ""
		w.tree(uint64(t.tx.Cursor().Bucket().Root()), true)
		return err
	}
	w.again, w.kept = true, make(map[uint64][]byte)
	for k := range keys {
		if w.shares(k) {
			continue
		}
		w.within, w.until = &[2][]byte{k, k}, nil
		w.tree(root, false)
		if err != nil {
			return err
		}
	}
	return nil
}

// shares reports whether the pages near a key are those near the key of the walk before: both lie
// in one leaf page.
func (w *pageWalk) shares(k []byte) bool {
	return w.within != nil && bytes.Compare(k, w.within[0]) >= 0 && (w.until == nil || bytes.Compare(k, w.until) < 0)
}

// bound notes that a page begins with key.
func (w *pageWalk) bound(key []byte) {
	if w.within != nil && bytes.Compare(key, w.within[1]) > 0 && (w.until == nil || bytes.Compare(key, w.until) < 0) {
		w.until = key
	}
}
