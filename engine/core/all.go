package core

import (
	"context"
	"encoding/binary"
	"maps"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// all calls fn with every series in no order, until fn returns false: faster than list.
func (s *Store) all(ctx context.Context, passed *passedOver, fn func(Series) bool) error {
	cat := &s.catalogue
	cat.mu.RLock()
	overlay := maps.Clone(cat.records)
	cat.mu.RUnlock()
	for after, more := Ref(0), true; more; {
		var found []storedSeries
		var err error
		found, more, err = cat.storedAfter(after, listChunk, passed)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		for _, x := range found {
			after = x.ref
			if _, changed := overlay[x.ref]; changed || x.rec == nil {
				continue
			}
			if !fn(cat.seriesOf(x.ref, x.rec)) {
				return nil
			}
		}
	}
	for ref, rec := range overlay {
		if rec != nil && !fn(cat.seriesOf(ref, rec)) {
			return nil
		}
	}
	return nil
}

// A storedSeries is an entry of the bucket series; rec is nil if the entry is damaged.
type storedSeries struct {
	ref Ref
	rec *seriesRecord
}

// storedAfter returns up to n entries of the bucket series behind a reference, in order. more
// reports whether the database has more.
func (cat *catalogue) storedAfter(after Ref, n int, passed *passedOver) (out []storedSeries, more bool, err error) {
	err = cat.db.View(bucketSeries, func(tx *boltfile.Tx) error {
		c := tx.Bucket(bucketSeries).Cursor()
		for k, v := c.Seek(refKey(after + 1)); k != nil; k, v = c.Next() {
			if len(out) == n {
				more = true
				return nil
			}
			rec, err := cat.storedRecord(k, v)
			if len(k) != 8 || Ref(binary.BigEndian.Uint64(k)) <= after {
				continue // a damaged key, which storedRecord has noted
			}
			after = Ref(binary.BigEndian.Uint64(k))
			if passed.over(err) {
				rec = nil
			}
			out = append(out, storedSeries{after, rec})
		}
		return nil
	})
	return out, more, err
}
