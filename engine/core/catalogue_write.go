package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/defcode"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/internal/record"
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
		if err := errors.Join(putNumber(tx, metaCount, uint64(w.count)), s.putSessions(tx)); err != nil {
			return err
		}
		if s.options.elsewhere() { // since now it may be known which log it is
			if err := putMark(tx, s.logMark()); err != nil {
				return err
			}
		}
		return putNumber(tx, metaCatalogue, uint64(b))
	}, func(written bool) {
		if !written {
			s.notes.back(notes)
			return
		}
		defer cat.nameTable.Release()
		defer cat.labelTable.Release()
		cat.mu.Lock()
		defer cat.mu.Unlock()
		cat.ops = behind(cat.ops, n)
		cat.forgotten++
		cat.settings = behind(cat.settings, m)
		cat.pos, cat.stored = b, w.count
		cat.forget(ops, b)
	})
}

// putSessions puts the table of numbers, if there are any.
func (s *Store) putSessions(tx *boltfile.Tx) error {
	v := s.appender.numbers.Append(nil, s.Position())
	if v == nil {
		return nil
	}
	return tx.Put(bucketMeta, metaSessions, v)
}

// putNotes puts notes in place of those that the database holds under their keys.
func putNotes(tx *boltfile.Tx, notes map[string][]byte) error {
	return putAll(tx, bucketChange{bucketNotes, pairsOf(bucketNotes, notes), boltfile.FillDefault})
}

// putNumber puts a number of the bucket meta.
func putNumber(tx *boltfile.Tx, key []byte, v uint64) error {
	return tx.Put(bucketMeta, key, binary.BigEndian.AppendUint64(nil, v))
}

// pairsOf returns pairs in order of their keys, with their checksums; a nil value stays.
func pairsOf(bucket []byte, values map[string][]byte) []pair {
	pairs := make([]pair, 0, len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		p := pair{[]byte(k), values[k]}
		if p.v != nil {
			p.v = record.AppendSum(p.v, bucket, p.k)
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// forget drops what the database now holds: the changes ops, which end at position b. The caller
// holds mu.
func (cat *catalogue) forget(ops []catOp, b wal.Pos) {
	if len(cat.ops) == 0 { // no later change at all
		clear(cat.names)
		clear(cat.records)
		return
	}
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

// A catalogueTx writes changes of the catalogue in one transaction. It gathers them by bucket, so
// that each key is written once and all in order.
type catalogueTx struct {
	cat    *catalogue
	tx     *boltfile.Tx
	count  int64
	names  []pair           // in order of the changes; a nil value deletes
	series []pair           // the same
	fresh  map[groupID]bool // these groups begin within tx: the label index has no entry of them
	next   map[*class]uint32
	free   []byte // room for keys and values, which bbolt keeps until the end of tx
}

func (w *catalogueTx) write(ops []catOp) error {
	w.names, w.series = make([]pair, 0, len(ops)), make([]pair, 0, len(ops))
	w.fresh, w.next = make(map[groupID]bool), make(map[*class]uint32)
	for i := range ops {
		o := &ops[i]
		if o.def != nil {
			v := defcode.Append(nil, o.def.m.Definition())
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
	names := newest(w.names)
	return putAll(w.tx,
		bucketChange{bucketNames, names, w.fill(bucketNames, names)},
		bucketChange{bucketSeries, newest(w.series), fillBehind}, // new ones come behind the others
		bucketChange{bucketLabels, w.labels(ops), boltfile.FillDefault})
}

// newest sorts pairs by their keys. Of pairs with the same key it returns the one added last.
func newest(pairs []pair) []pair {
	rises := func(a, b pair) int { return bytes.Compare(a.k, b.k) }
	if !slices.IsSortedFunc(pairs, rises) {
		slices.SortStableFunc(pairs, rises)
	}
	kept := pairs[:0]
	for i, p := range pairs {
		if i+1 < len(pairs) && bytes.Equal(pairs[i+1].k, p.k) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// fillBehind is how full bbolt leaves pages where keys come behind those that are there. Where they
// come in between it leaves the pages half full, so that they have room.
const fillBehind = 0.9

// fill returns how full bbolt shall leave the pages of a bucket, given what will be put.
func (w *catalogueTx) fill(bucket []byte, pairs []pair) float64 {
	if last, _ := w.tx.Bucket(bucket).Cursor().Last(); len(pairs) > 0 && bytes.Compare(last, pairs[0].k) < 0 {
		return fillBehind
	}
	return boltfile.FillDefault
}

// A pair is a key and its value, with its checksum.
type pair struct{ k, v []byte }

// A bucketChange is what a transaction changes of a bucket: pairs in order, where a nil value
// deletes, and how full bbolt leaves the pages.
type bucketChange struct {
	bucket []byte
	pairs  []pair
	fill   float64
}

// putAll makes changes. It first checks the pages that change: bbolt would write them anew without
// what it cannot see.
func putAll(tx *boltfile.Tx, changes ...bucketChange) error {
	for _, c := range changes {
		keys := func(yield func([]byte) bool) {
			for i := 0; i < len(c.pairs) && yield(c.pairs[i].k); i++ {
			}
		}
		if err := tx.SoundNear(c.bucket, keys); err != nil {
			return err
		}
	}
	for _, c := range changes {
		b := tx.Bucket(c.bucket)
		b.FillPercent = c.fill
		for _, p := range c.pairs {
			var err error
			if p.v == nil {
				err = b.Delete(p.k)
			} else {
				err = b.Put(p.k, p.v)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// room returns an empty slice with room behind it for a key or a value. What is appended to it is
// given to keep.
func (w *catalogueTx) room() []byte {
	if cap(w.free) < 512 {
		w.free = make([]byte, 0, 64<<10)
	}
	return w.free
}

// keep returns b, to which room was given, and keeps it until the end.
func (w *catalogueTx) keep(b []byte) []byte {
	if len(b) <= cap(w.free) { // else it has outgrown the room
		w.free = w.free[len(b):len(b):cap(w.free)]
	}
	return b[:len(b):len(b)]
}

// name returns the key and the value of the bucket names for a name.
func (w *catalogueTx) name(key string, ref Ref) pair {
	k := w.keep(append(w.room(), key...))
	if ref == 0 {
		return pair{k, nil}
	}
	return pair{k, w.keep(record.AppendSum(binary.BigEndian.AppendUint64(w.room(), uint64(ref)), bucketNames, k))}
}

// record returns the key and the value of the bucket series for a record.
func (w *catalogueTx) record(ref Ref, rec *seriesRecord) pair {
	k := w.keep(binary.BigEndian.AppendUint64(w.room(), uint64(ref)))
	if rec == nil {
		return pair{k, nil}
	}
	return pair{k, w.keep(record.AppendSum(rec.append(w.room()), bucketSeries, k))}
}

func (w *catalogueTx) apply(o *catOp) {
	switch {
	case o.add == nil:
		w.count--
	case o.old == nil:
		c := w.cat.class(o.ref.class())
		if c.index(o.ref.number()) == 0 {
			w.fresh[c.groupOf(o.ref.number())] = true
		}
		w.next[c] = o.ref.number() + 1
		w.count++
	}
	if key, ok := o.freed(); ok {
		w.names = append(w.names, w.name(key, 0))
	}
	w.names = append(w.names, w.name(o.key, o.holder()))
	w.series = append(w.series, w.record(o.ref, o.add))
}

// labels returns the entries of the label index that change, in order. A damaged entry stays as it
// is, and so does a missing one beside it: whoever reads them gets an error.
func (w *catalogueTx) labels(ops []catOp) []pair {
	var pairs []pair
	stored := w.tx.Bucket(bucketLabels).Cursor()
	for id, labels := range w.cat.postingChanges(ops) {
		for l, x := range labels {
			k := w.keep(id.AppendKey(labelindex.AppendKey(w.room(), l)))
			var p labelindex.Posting
			if !w.fresh[id] {
				var err error
				if p, err = w.cat.postingIn(stored, k); err != nil {
					continue
				}
			}
			if x.Apply(&p); p.Empty() {
				pairs = append(pairs, pair{k, nil})
				continue
			}
			pairs = append(pairs, pair{k, w.keep(record.AppendSum(p.Append(w.room()), bucketLabels, k))})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.k, b.k) })
	return pairs
}

// A change of the catalogue is logged first and applied afterwards. What it does depends on the
// catalogue that it finds. Replay must find the same catalogue, or series would get other numbers
// than their groups know. So a change that would meet a damaged name is refused before it is
// logged. If replay meets a damaged name, the name was damaged later, and Open refuses the store.

// damagedName returns the damage of the names under keys, or nil.
func (s *Store) damagedName(keys ...string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	for _, key := range keys {
		if _, err := s.catalogue.lookup(key); errors.Is(err, ErrDamaged) {
			return err
		}
	}
	return nil
}
