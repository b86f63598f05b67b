package core

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// Resolve calls fn with the catalogue entry of each of refs, in order, until fn returns false. It
// leaves out references of series that do not exist. It is fastest for references in order. It
// skips damaged entries; the error then wraps ErrDamaged. fn must not call methods of the store
// that change it.
func (s *Store) Resolve(ctx context.Context, refs []Ref, fn func(i int, x Series) bool) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	var passed passedOver
	err := s.resolve(ctx, refs, &passed, fn)
	if err == nil {
		err = passed.err()
	}
	return err
}

// How many records are read in one transaction: few at first, because fn may end early.
const (
	resolveFirst = 32
	resolveChunk = 512
)

// resolve is Resolve for who has entered the store, and keeps damage in passed. Records are read
// some hundred at a time, so that fn runs outside of the transaction.
func (s *Store) resolve(ctx context.Context, refs []Ref, passed *passedOver, fn func(i int, x Series) bool) error {
	records := make([]*seriesRecord, min(len(refs), resolveChunk))
	var order []placedRef
	n := resolveFirst
	for at := 0; at < len(refs); at, n = at+n, min(4*n, resolveChunk) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := refs[at:min(at+n, len(refs))]
		order = s.catalogue.changedRecords(order[:0], part, records)
		if err := s.catalogue.storedRecords(order, records); err != nil {
			return err
		}
		for i, ref := range part {
			rec := records[i]
			if rec == nil {
				var err error
				if rec, err = s.listed(ref); errors.Is(err, ErrNotFound) || passed.over(err) {
					continue // dropped, or damaged
				} else if err != nil {
					return err
				}
			}
			if !fn(at+i, s.catalogue.seriesOf(ref, rec)) {
				return nil
			}
		}
	}
	return nil
}

// A placedRef is a reference and its place among others.
type placedRef struct {
	ref Ref
	at  int
}

// changedRecords puts the records of refs that changed into records. It appends the other refs to
// dst, in the order in which the database has their records. In order of their names they would be
// all over it.
func (cat *catalogue) changedRecords(dst []placedRef, refs []Ref, records []*seriesRecord) []placedRef {
	cat.mu.RLock()
	for i, ref := range refs {
		x, ok := cat.records[ref]
		if records[i] = x.rec; !ok {
			dst = append(dst, placedRef{ref, i})
		}
	}
	cat.mu.RUnlock()
	if !slices.IsSorted(refs) {
		slices.SortFunc(dst, func(a, b placedRef) int { return cmp.Compare(a.ref, b.ref) })
	}
	return dst
}

// storedRecords reads the records of refs, which are in order. A record that the database does not
// have, or that is damaged, is nil.
func (cat *catalogue) storedRecords(refs []placedRef, records []*seriesRecord) error {
	if len(refs) == 0 {
		return nil
	}
	return cat.db.View(bucketSeries, func(tx *boltfile.Tx) error {
		c := tx.Bucket(bucketSeries).Cursor()
		var k, v []byte
		for _, x := range refs {
			i, key := x.at, refKey(x.ref)
			if k != nil && !bytes.Equal(k, key) {
				k, v = c.Next()
			}
			if !bytes.Equal(k, key) {
				k, v = c.Seek(key)
			}
			records[i] = nil
			if bytes.Equal(k, key) {
				records[i], _ = cat.storedRecord(k, v) // the caller reads a damaged record again
			}
		}
		return nil
	})
}
