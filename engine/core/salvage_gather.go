package core

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// gather makes the work file of the entries that can be read, and completes it as far as a store
// needs to load it.
func (x *salvaging) gather(name string) (err error) {
	if err := removeIf(name); err != nil {
		return err
	}
	old, err := os.Open(filepath.Join(x.dir, fileDB))
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // it was only read
	st, err := old.Stat()
	if err != nil {
		return err
	}
	to, err := boltfile.Open(name, boltfile.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	c := &pageCopy{x: x, to: to, pending: make(map[string][]pair)}
	if err := boltfile.Salvage(old, st.Size(), c); err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	return to.Update(nil, func(tx *boltfile.Tx) error {
		for _, b := range buckets {
			if _, err := tx.MakeBucket(b); err != nil {
				return err
			}
		}
		return errors.Join(x.meta(tx), x.numbered(tx))
	}, nil)
}

// A pageCopy puts the entries that can be read of a damaged file into a new one. The checksum of
// each value proves its bucket and key.
type pageCopy struct {
	x       *salvaging
	to      *boltfile.File
	pending map[string][]pair
	bytes   int
}

// BucketOf returns the bucket that an entry proves to belong to. See boltfile.Salvager.
func (c *pageCopy) BucketOf(bucket string, k, v []byte) string {
	for _, b := range buckets {
		if bucket != "" && bucket != string(b) {
			continue
		}
		var err error
		if bytes.Equal(b, bucketRows) {
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

// Put takes an entry for the new file.
func (c *pageCopy) Put(bucket string, k, v []byte) error {
	c.pending[bucket] = append(c.pending[bucket], pair{k, v})
	if c.bytes += len(k) + len(v); c.bytes < 8<<20 {
		return nil
	}
	return c.flush()
}

// Lose adds a line to the report.
func (c *pageCopy) Lose(format string, args ...any) { c.x.lose(format, args...) }

// flush writes the entries that were put. Of two entries with one key the first stays.
func (c *pageCopy) flush() error {
	err := c.to.Update(nil, func(tx *boltfile.Tx) error {
		for name, pairs := range c.pending {
			b, err := tx.MakeBucket([]byte(name))
			if err != nil {
				return fmt.Errorf("bucket %q: %w", name, err)
			}
			b.FillPercent = 0.9
			for _, p := range pairs {
				if b.Get(p.k) != nil {
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

// meta completes the bucket meta. It takes the mark of the log out of it: the work file has no log.
func (x *salvaging) meta(tx *boltfile.Tx) error {
	meta := tx.Bucket(bucketMeta)
	if v, err := tx.Get(bucketMeta, metaVersion); err != nil || v != nil && !bytes.Equal(v, binary.BigEndian.AppendUint32(nil, formatVersion)) {
		return errors.Join(err, otherFormat(v))
	}
	if v, err := tx.Get(bucketMeta, metaLog); err == nil && x.holds.UnmarshalBinary(v) == nil {
		x.elsewhere = x.holds.Segment == logElsewhere
	} else {
		x.holds = wal.Mark{}
	}
	x.noPos = meta.Get(metaCatalogue) == nil
	if count, err := metaNumber(tx, metaCount); err == nil {
		x.named = int(count)
	} else {
		x.named = -1
	}
	if meta.Get(metaReorder) == nil {
		x.lose("the reorder window is lost: samples that it holds are applied")
	}
	for _, key := range metaNumbers {
		if meta.Get(key) == nil {
			if err := putNumber(tx, key, 0); err != nil {
				return err
			}
		}
	}
	return errors.Join(putMark(tx, wal.Mark{}), putStoreID(tx), tx.Put(bucketMeta, metaVersion, binary.BigEndian.AppendUint32(nil, formatVersion)))
}

// numbered fills the gaps between definitions and between classes with empty values, and drops what
// has a key that nothing can have.
func (x *salvaging) numbered(tx *boltfile.Tx) error {
	top := map[string]uint32{}
	cur := tx.Bucket(bucketSeries).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		b, err := record.CutSum(v, bucketSeries, k)
		if err != nil || len(k) != 8 {
			continue
		}
		if rec, err := parseRecord(b); err == nil {
			top[string(bucketDefs)] = max(top[string(bucketDefs)], rec.def)
			top[string(bucketClasses)] = max(top[string(bucketClasses)], Ref(binary.BigEndian.Uint64(k)).class())
		}
	}
	for _, bucket := range [][]byte{bucketDefs, bucketClasses} {
		b := tx.Bucket(bucket)
		next := uint32(1)
		var gaps []uint32
		cur := b.Cursor()
		for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
			id := binary.BigEndian.Uint32(k)
			for ; next < id; next++ {
				gaps = append(gaps, next)
			}
			next = id + 1
		}
		for ; next <= top[string(bucket)]; next++ {
			gaps = append(gaps, next)
		}
		for _, id := range gaps {
			if bytes.Equal(bucket, bucketDefs) {
				x.noDefs = true
				x.lose("definition %d is lost, and so are the series that have it", id)
			}
			if err := tx.Put(bucket, binary.BigEndian.AppendUint32(nil, id), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// catalogueOf completes the catalogue of the work file: names from records of series, and records
// from names and states. It leaves out series whose definition is lost.
func (x *salvaging) catalogueOf(tx *boltfile.Tx) error {
	s := x.s
	known := make(map[Ref]bool) // false: it was left out
	unnamed := 0                // series with a record and without a name
	names, series := make(map[string][]byte), make(map[string][]byte)
	cur := tx.Bucket(bucketSeries).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		b, _ := record.CutSum(v, bucketSeries, k) // it was checked
		rec, err := parseRecord(b)
		if err != nil || len(k) != 8 {
			x.lose("series %s: %v", damage.KeyText(k), cmp.Or(err, record.ErrParse))
			series[string(k)] = nil
			continue
		}
		ref := Ref(binary.BigEndian.Uint64(k))
		_, err = s.catalogue.decodeRecord(b)
		if known[ref] = err == nil && s.catalogue.numbered(ref); !known[ref] || s.catalogue.definition(rec.def).class.id != ref.class() {
			x.lose("series %q: its definition is lost", rec.path)
			series[string(k)], known[ref], x.left[ref] = nil, false, true
			continue
		}
		key := nameKey(rec.path)
		if tx.Bucket(bucketNames).Get([]byte(key)) == nil {
			unnamed++
		}
		names[key] = bytes.Clone(k)
	}
	lacking := make(map[Ref]string)
	cur = tx.Bucket(bucketNames).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		b, _ := record.CutSum(v, bucketNames, k)
		if len(b) != 8 || !s.catalogue.numbered(Ref(binary.BigEndian.Uint64(b))) {
			names[string(k)] = nil
			continue
		}
		ref := Ref(binary.BigEndian.Uint64(b))
		if _, ok := known[ref]; !ok {
			lacking[ref] = string(k)
		}
	}
	found := len(known) + len(lacking)
	switch {
	case x.named < 0 && (len(lacking) > 0 || unnamed > 0):
		x.doubt = "it is not known how many series there were"
	case found < x.named:
		x.doubt = fmt.Sprintf("of %d of %d series both the name and the record are lost", x.named-found, x.named)
		x.lose("%s", x.doubt)
	}
	if found > 0 {
		x.named = max(x.named, found)
	}
	x.records(tx, lacking, series)
	return errors.Join(putAll(tx, bucketNames, names), putAll(tx, bucketSeries, series))
}

// records makes records of series that only have a name and a state: the state has the definition,
// the label index the labels.
func (x *salvaging) records(tx *boltfile.Tx, lacking map[Ref]string, series map[string][]byte) {
	if len(lacking) == 0 {
		return
	}
	cat := &x.s.catalogue
	labels := x.labels(tx, lacking)
	for ref, name := range lacking {
		c := cat.class(ref.class())
		g := &group{c: c, id: ref.number() >> c.shift}
		i := c.index(ref.number())
		err := damage.ErrMissing
		if v := tx.Bucket(bucketState).Get(g.stateKey()); v != nil {
			err = g.decodeState(v)
		}
		if d := g.definitionAt(i); err == nil && d != nil {
			rec := &seriesRecord{def: d.id, path: name, labels: labels[ref]}
			series[string(refKey(ref))] = rec.append(nil)
			x.remade[ref] = name
		} else {
			x.left[ref] = true
			x.lose("series %q: its record and its state are lost", name)
		}
		g.unload()
	}
}

// definitionAt returns the definition of the series that lives at index i, or nil.
func (g *group) definitionAt(i int) *definition {
	if !g.alive(i) {
		return nil
	}
	return g.definition(i)
}

// labels returns the labels that the label index has of series.
func (x *salvaging) labels(tx *boltfile.Tx, of map[Ref]string) map[Ref][]Label {
	out := make(map[Ref][]Label)
	cur := tx.Bucket(bucketLabels).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		id, p, err := x.s.catalogue.storedPosting(k, v)
		if err != nil {
			continue
		}
		part := bytes.SplitN(k, zeroByte, 3)
		if len(part[0]) == 0 || len(part[1]) == 0 {
			continue
		}
		for _, ref := range x.s.catalogue.refsOf(nil, refSet{{id, p}}) {
			if _, ok := of[ref]; ok {
				out[ref] = append(out[ref], Label{string(part[0]), string(part[1])})
			}
		}
	}
	return out
}
