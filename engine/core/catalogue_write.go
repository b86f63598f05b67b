package core

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// opsPerTx bounds the changes of one transaction: bbolt keeps a leaf whole until the end of a
// transaction, and an insertion moves what stands behind it.
const opsPerTx = 16 << 10

// writeCatalogue writes the changes of the catalogue at or below position b, the notes, and b. Many
// changes take several transactions. Each ends with a whole log record, and stores its position.
func (s *Store) writeCatalogue(b wal.Pos) error {
	if err := s.writeMetadata(); err != nil {
		return err
	}
	for {
		upto, more := s.catalogue.step(b)
		if err := s.writeChanges(upto); err != nil || !more {
			return err
		}
		s.failpoint("checkpoint-catalogue-part")
	}
}

// step returns the position that the next transaction goes up to, and whether b lies beyond it.
func (cat *catalogue) step(b wal.Pos) (wal.Pos, bool) {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	if len(cat.ops) <= opsPerTx || cat.ops[opsPerTx].pos > b {
		return b, false
	}
	upto := cat.ops[opsPerTx].pos
	n := opsPerTx
	for n < len(cat.ops) && cat.ops[n].pos == upto {
		n++
	}
	return upto, n < len(cat.ops) || upto < b
}

// writeChanges writes the changes at or below b in one transaction.
func (s *Store) writeChanges(b wal.Pos) error {
	cat := &s.catalogue
	cat.mu.RLock()
	n := 0
	for n < len(cat.ops) && cat.ops[n].pos <= b {
		n++
	}
	ops := cat.ops[:n:n]
	m := 0
	for m < len(cat.settings) && cat.settings[m].pos <= b {
		m++
	}
	settings := cat.settings[:m:m]
	same := b == cat.pos
	cat.mu.RUnlock()
	if n == 0 && same && !s.notes.any() {
		return nil
	}
	notes := s.notes.takeChanges()
	log := s.logMark()
	var w catalogueTx
	return s.db.Update(nil, func(tx *boltfile.Tx) error {
		w = catalogueTx{cat: cat, tx: tx, count: cat.stored}
		if err := w.write(ops); err != nil {
			return err
		}
		if err := putNotes(tx, notes); err != nil {
			return err
		}
		if m > 0 {
			if err := putNumber(tx, metaReorder, uint64(settings[m-1].reorder)); err != nil {
				return err
			}
		}
		if err := putNumber(tx, metaCount, uint64(w.count)); err != nil {
			return err
		}
		if err := putMark(tx, log); err != nil {
			return err
		}
		return putNumber(tx, metaCatalogue, uint64(b))
	}, func(written bool) {
		if !written {
			s.notes.back(notes)
			return
		}
		defer cat.nameTable.release()
		defer cat.labelTable.release()
		cat.mu.Lock()
		defer cat.mu.Unlock()
		cat.ops = behind(cat.ops, n)
		cat.forgotten++
		cat.settings = behind(cat.settings, m)
		cat.pos, cat.stored = b, w.count
		cat.forget(ops, b)
	})
}

// putNotes puts notes in place of those that the database holds under their keys.
func putNotes(tx *boltfile.Tx, notes map[string][]byte) error {
	if err := tx.SoundNear(bucketNotes, bytesOf(slices.Sorted(maps.Keys(notes)))); err != nil {
		return err
	}
	return putAll(tx, bucketNotes, notes)
}

// bytesOf yields keys as bytes.
func bytesOf(keys []string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, k := range keys {
			if !yield([]byte(k)) {
				return
			}
		}
	}
}

// putNumber puts a number of the bucket meta.
func putNumber(tx *boltfile.Tx, key []byte, v uint64) error {
	return tx.Put(bucketMeta, key, binary.BigEndian.AppendUint64(nil, v))
}

// putAll puts pairs in order of their keys, with their checksums; a nil value deletes.
func putAll(tx *boltfile.Tx, bucket []byte, pairs map[string][]byte) error {
	b := tx.Bucket(bucket)
	for _, k := range slices.Sorted(maps.Keys(pairs)) {
		var err error
		if v := pairs[k]; v == nil {
			err = b.Delete([]byte(k))
		} else {
			err = b.Put([]byte(k), record.AppendSum(v, bucket, []byte(k)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forget drops what the database now holds: the changes ops, which end at position b. The caller
// holds mu.
func (cat *catalogue) forget(ops []catOp, b wal.Pos) {
	name := func(key string) {
		if cat.names[key].pos <= b { // no later change
			delete(cat.names, key)
		}
	}
	for i := range ops {
		o := &ops[i]
		if cat.records[o.ref].pos <= b {
			delete(cat.records, o.ref)
		}
		name(o.key)
		if key, ok := o.freed(); ok {
			name(key)
		}
	}
}

// behind returns list without its first n elements. It copies what is left when that is the smaller
// part, so that all copies together are no longer than the list was, and little memory stays in
// use.
func behind[T any](list []T, n int) []T {
	if len(list)-n <= n {
		return slices.Clone(list[n:])
	}
	return list[n:]
}
