package core

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/record"
)

// A catalogueTx writes changes of the catalogue in one transaction. It gathers them by bucket, so
// that each key is written once and all in order.
type catalogueTx struct {
	cat    *catalogue
	tx     *boltfile.Tx
	count  int64
	names  []pair // in order of the changes; a nil value deletes
	series []pair // the same
	groups map[groupID]*groupPostings
	next   map[*class]uint32

	at      groupID // groups[at] is postings
	current *groupPostings
	stored  *boltfile.Bucket // the label index
	free    []byte           // room for keys and values, which bbolt keeps until the end of tx
}

// A groupPostings is the entries of the label index that have series of one group.
type groupPostings struct {
	// fresh says that the group begins within this transaction, so that the database has no entry.
	fresh bool
	// labels holds the entries; nil: the entry is damaged and stays as it is.
	labels map[Label]*posting
	free   []posting
}

func (w *catalogueTx) write(ops []catOp) error {
	w.names, w.series = make([]pair, 0, len(ops)), make([]pair, 0, len(ops))
	w.groups, w.next = make(map[groupID]*groupPostings), make(map[*class]uint32)
	w.stored = w.tx.Bucket(bucketLabels)
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
	names, series, labels := newest(w.names), newest(w.series), w.labels()
	for _, part := range []struct {
		bucket []byte
		pairs  []pair
	}{{bucketNames, names}, {bucketSeries, series}, {bucketLabels, labels}} {
		// bbolt would write the page anew without what it cannot see
		if err := w.tx.SoundNear(part.bucket, keysOf(part.pairs)); err != nil {
			return err
		}
	}
	if err := w.put(bucketNames, names, w.fill(bucketNames, names)); err != nil {
		return err
	}
	// A new series comes behind those of its class.
	if err := w.put(bucketSeries, series, fillBehind); err != nil {
		return err
	}
	return w.put(bucketLabels, labels, boltfile.FillDefault)
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

// put puts pairs, which are in order and have their checksums; a nil value deletes.
func (w *catalogueTx) put(bucket []byte, pairs []pair, fill float64) error {
	b := w.tx.Bucket(bucket)
	b.FillPercent = fill
	for _, p := range pairs {
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
	c := w.cat.class(o.ref.class())
	switch {
	case o.rename:
		w.names = append(w.names, w.name(o.oldKey, 0))
	case o.add != nil:
		if id := c.groupOf(o.ref.number()); c.index(o.ref.number()) == 0 {
			w.group(id).fresh = true
		}
		w.next[c] = o.ref.number() + 1
		w.count++
	default:
		w.count--
	}
	if o.old != nil && (!o.rename || o.relabel) {
		w.index(c, o.ref, o.old, false)
	}
	w.names = append(w.names, w.name(o.key, o.holder()))
	w.series = append(w.series, w.record(o.ref, o.add))
	if o.add != nil && (!o.rename || o.relabel) {
		w.index(c, o.ref, o.add, true)
	}
}

// group returns the entries of the label index for a group.
func (w *catalogueTx) group(id groupID) *groupPostings {
	if w.current != nil && w.at == id {
		return w.current
	}
	g := w.groups[id]
	if g == nil {
		g = &groupPostings{labels: make(map[Label]*posting)}
		w.groups[id] = g
	}
	w.at, w.current = id, g
	return g
}

// index adds a series to the postings of its labels, or takes it out. A damaged posting stays as it
// is: whoever reads it is told, and a repair makes it anew.
func (w *catalogueTx) index(c *class, ref Ref, rec *seriesRecord, add bool) {
	id := c.groupOf(ref.number())
	g := w.group(id)
	for l := range rec.indexed() {
		p, known := g.labels[l]
		if !known {
			p = w.posting(g, id, l)
			g.labels[l] = p
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

// posting returns the posting of a label for a group: empty if the database has no such posting,
// nil if it is damaged.
func (w *catalogueTx) posting(g *groupPostings, id groupID, l Label) *posting {
	if len(g.free) == 0 {
		g.free = make([]posting, 16)
	}
	p := &g.free[0]
	if g.fresh {
		g.free = g.free[1:]
		return p
	}
	k := groupKey(labelKey(l), id.class, id.group)
	if v := w.stored.Get(k); v != nil {
		var err error
		if _, *p, err = w.cat.storedPosting(k, v); err != nil {
			*p = posting{}
			return nil
		}
	}
	g.free = g.free[1:]
	return p
}

// labels returns the changed entries of the label index, in order.
func (w *catalogueTx) labels() []pair {
	var pairs []pair
	for id, g := range w.groups {
		for l, p := range g.labels {
			if p == nil {
				continue
			}
			k := w.keep(groupKey(appendLabelKey(w.room(), l), id.class, id.group))
			if p.empty() {
				pairs = append(pairs, pair{k, nil})
				continue
			}
			pairs = append(pairs, pair{k, w.keep(record.AppendSum(p.append(w.room()), bucketLabels, k))})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.k, b.k) })
	return pairs
}
