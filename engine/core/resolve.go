package core

import (
	"bytes"
	"context"
	"errors"

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
	n := resolveFirst
	for at := 0; at < len(refs); at, n = at+n, min(4*n, resolveChunk) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := refs[at:min(at+n, len(refs))]
		if err := s.catalogue.storedRecords(part, records, passed); err != nil {
			return err
		}
		for i, ref := range part {
			rec, changed := s.catalogue.changedRecord(ref)
			if !changed {
				rec = records[i]
			}
			if rec == nil && !changed {
				var err error
				if rec, err = s.listed(ref); errors.Is(err, ErrNotFound) || passed.over(err) {
					continue // dropped meanwhile, or damaged
				} else if err != nil {
					return err
				}
			}
			if rec != nil && !fn(at+i, s.catalogue.seriesOf(ref, rec)) {
				return nil
			}
		}
	}
	return nil
}

// storedRecords reads the records of refs. A record that the database does not have, or that is
// damaged, is nil.
func (cat *catalogue) storedRecords(refs []Ref, records []*seriesRecord, passed *passedOver) error {
	return cat.db.View(bucketSeries, func(tx *boltfile.Tx) error {
		c := tx.Bucket(bucketSeries).Cursor()
		var k, v []byte
		for i, ref := range refs {
			key := refKey(ref)
			if k != nil {
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
