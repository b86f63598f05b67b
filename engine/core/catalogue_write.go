package core

import (
	"encoding/binary"
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
		defer cat.fresh.release()
		cat.mu.Lock()
		defer cat.mu.Unlock()
		cat.ops = slices.Clone(cat.ops[n:])
		cat.forgotten++
		cat.settings = slices.Clone(cat.settings[m:])
		cat.pos, cat.stored = b, w.count
		cat.forget(ops)
	})
}

// putNotes puts notes in place of those that the database holds under their keys.
func putNotes(tx *boltfile.Tx, notes map[string][]byte) error {
	for k := range notes {
		if err := tx.Sound(bucketNotes, []byte(k), []byte(k)); err != nil {
			return err
		}
	}
	return putAll(tx, bucketNotes, notes)
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

// A catalogueTx writes changes of the catalogue: it gathers them by bucket, so
// that each is written once and in order.
type catalogueTx struct {
	cat    *catalogue
	tx     *boltfile.Tx
	count  int64
	names  map[string][]byte
	series map[string][]byte
	labels map[string]*posting
	next   map[*class]uint32
}

func (w *catalogueTx) write(ops []catOp) error {
	w.names, w.series = make(map[string][]byte), make(map[string][]byte)
	w.labels, w.next = make(map[string]*posting), make(map[*class]uint32)
	for i := range ops {
		o := &ops[i]
		if o.def != nil {
			v := appendDefinition(nil, o.def.m.Definition())
			if err := w.tx.Put(bucketDefs, binary.BigEndian.AppendUint32(nil, o.def.id), v); err != nil {
				return err
			}
		}
		w.apply(o)
	}
	for c, next := range w.next {
		if err := w.tx.Put(bucketClasses, binary.BigEndian.AppendUint32(nil, c.id), c.append(nil, next)); err != nil {
			return err
		}
	}
	postings := make(map[string][]byte, len(w.labels))
	for k, p := range w.labels {
		if p == nil {
			continue
		}
		postings[k] = nil
		if p.count() > 0 {
			postings[k] = p.append(nil)
		}
	}
	for bucket, pairs := range map[*[]byte]map[string][]byte{&bucketNames: w.names, &bucketSeries: w.series, &bucketLabels: postings} {
		for k := range pairs {
			if err := w.tx.Sound(*bucket, []byte(k), []byte(k)); err != nil {
				return err // bbolt would write the page anew without what it cannot see
			}
		}
	}
	if err := putAll(w.tx, bucketNames, w.names); err != nil {
		return err
	}
	if err := putAll(w.tx, bucketSeries, w.series); err != nil {
		return err
	}
	return putAll(w.tx, bucketLabels, postings)
}

func (w *catalogueTx) apply(o *catOp) {
	c := w.cat.class(o.ref.class())
	switch {
	case o.rename:
		w.names[o.oldKey] = nil
	case o.add != nil:
		w.next[c] = o.ref.number() + 1
		w.count++
	default:
		w.count--
	}
	if o.old != nil && (!o.rename || o.relabel) {
		w.index(c, o.ref, o.old, false)
	}
	if o.add == nil {
		w.names[o.key], w.series[string(refKey(o.ref))] = nil, nil
		return
	}
	w.names[o.key] = refKey(o.ref)
	w.series[string(refKey(o.ref))] = o.add.append(nil)
	if !o.rename || o.relabel {
		w.index(c, o.ref, o.add, true)
	}
}

// index adds a series to the postings of its labels, or takes it out. A damaged posting stays as it
// is: whoever reads it is told, and a repair makes it anew.
func (w *catalogueTx) index(c *class, ref Ref, rec *seriesRecord, add bool) {
	for l := range rec.indexed() {
		k := groupKey(labelKey(l), c.id, ref.number()>>c.shift)
		p, known := w.labels[string(k)]
		if !known {
			p = w.posting(k)
			w.labels[string(k)] = p
		}
		if p == nil {
			continue
		}
		if add {
			p.set(c.index(ref.number()))
		} else {
			p.clear(c.index(ref.number()))
		}
	}
}

// posting returns a stored posting: empty if the database has no such posting, nil if it is
// damaged.
func (w *catalogueTx) posting(k []byte) *posting {
	v := w.tx.Bucket(bucketLabels).Get(k)
	if v == nil {
		if w.tx.Absent(bucketLabels, k) != nil {
			return nil
		}
		return new(posting)
	}
	_, p, err := w.cat.storedPosting(k, v)
	if err != nil {
		return nil
	}
	return &p
}

// forget drops from the overlay what the database now holds. The caller holds mu.
func (cat *catalogue) forget(ops []catOp) {
	for i := range ops {
		o := &ops[i]
		delete(cat.names, o.key)
		delete(cat.records, o.ref)
		if o.rename {
			delete(cat.names, o.oldKey)
		}
	}
	for i := range cat.ops { // what later changes say stays
		o := &cat.ops[i]
		if o.rename {
			cat.names[o.oldKey] = 0
		}
		cat.names[o.key], cat.records[o.ref] = o.ref, o.add
		if o.add == nil {
			cat.names[o.key] = 0
		}
	}
}
