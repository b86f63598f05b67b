package core

import (
	"bytes"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// A pageCopy puts the entries that can be read of a damaged file into a new one. The checksum of
// each value proves its bucket and key.
type pageCopy struct {
	r       *repairing
	to      *boltfile.File
	pending map[string][]pair
	bytes   int
}

// KeepDamaged reports whether a damaged value is copied because its key alone tells something.
func (c *pageCopy) KeepDamaged(bucket string, k []byte) bool {
	switch bucket {
	case string(bucketRows):
		_, _, _, _, _, ok := rowblock.ParseKey(k)
		return ok
	case string(bucketLag):
		return len(k) == lagKeySize
	case string(bucketState):
		return len(k) == 8
	case string(bucketDefs):
		return len(k) == 4
	}
	return false
}

// BucketOf returns the bucket that an entry proves to belong to. See boltfile.Salvager.
func (c *pageCopy) BucketOf(bucket string, k, v []byte) string {
	for _, b := range buckets {
		if bucket != "" && bucket != string(b) {
			continue
		}
		var err error
		if bytes.Equal(b, bucketRows) {
			if _, _, _, _, _, ok := rowblock.ParseKey(k); !ok {
				continue
			}
			_, err = rowblock.Open(k, v)
		} else {
			_, err = record.CutSum(v, b, k)
		}
		if err == nil {
			return string(b)
		}
	}
	return ""
}

// Put takes an entry for the new file. A damaged definition waits for a step that looks for its
// number.
func (c *pageCopy) Put(bucket string, k, v []byte) error {
	if bucket == string(bucketDefs) && c.BucketOf(bucket, k, v) == "" {
		c.r.damagedDefs = append(c.r.damagedDefs, pair{k, v})
		return nil
	}
	c.pending[bucket] = append(c.pending[bucket], pair{k, v})
	if c.bytes += len(k) + len(v); c.bytes < 8<<20 {
		return nil
	}
	return c.flush()
}

// Done and Lose add lines to the repair's report.
func (c *pageCopy) Done(format string, args ...any) { c.r.done(format, args...) }

// Lose is described with Done.
func (c *pageCopy) Lose(format string, args ...any) { c.r.lose(format, args...) }

// flush writes the entries that were put. Of two entries with one key the first stays, unless only
// the second is sound: a damaged key may be that of another entry.
func (c *pageCopy) flush() error {
	err := c.to.Update(nil, func(tx *boltfile.Tx) error {
		for name, pairs := range c.pending {
			b, err := tx.MakeBucket([]byte(name))
			if err != nil {
				return fmt.Errorf("bucket %q: %w", name, err)
			}
			b.FillPercent = 0.9
			for _, p := range pairs {
				if old := b.Get(p.k); old != nil && (c.BucketOf(name, p.k, old) != "" || c.BucketOf(name, p.k, p.v) == "") {
					continue
				}
				if err := b.Put(p.k, p.v); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil)
	c.pending, c.bytes = make(map[string][]pair), 0
	return err
}
