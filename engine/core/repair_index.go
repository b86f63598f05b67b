package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// numbers puts the numbers of the bucket meta that are missing, but those that the log's position
// depends on.
func (r *repairing) numbers() error {
	return r.s.db.Update(nil, func(tx *boltfile.Tx) error {
		for _, b := range buckets {
			if _, err := tx.MakeBucket(b); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		if meta.Get(metaCatalogue) == nil {
			return &DamageError{Bucket: string(bucketMeta), Key: metaCatalogue, Err: errors.New("which of the log is in the database cannot be told: restore a backup")}
		}
		if meta.Get(metaVersion) == nil {
			r.done("the number %s is made anew", metaVersion)
			if err := tx.Put(bucketMeta, metaVersion, binary.BigEndian.AppendUint32(nil, formatVersion)); err != nil {
				return err
			}
		}
		if meta.Get(metaLog) == nil {
			var m wal.Mark
			if l, err := wal.Open(filepath.Join(r.s.dir, dirLog), wal.Options{ReadOnly: true}); err == nil {
				m = l.Marked()
				_ = l.Close() // it was only read
			}
			r.done("how far the log reaches is taken from the log")
			if err := putMark(tx, m); err != nil {
				return err
			}
		}
		if meta.Get(metaReorder) == nil {
			if err := r.window(tx); err != nil {
				return err
			}
		}
		if meta.Get(metaCount) == nil { // the right one is put below
			r.done("the number %s is made anew", metaCount)
			if err := putNumber(tx, metaCount, 0); err != nil {
				return err
			}
		}
		if meta.Get(metaGroups) == nil {
			top, err := metaNumber(tx, metaCatalogue)
			if err != nil {
				return err
			}
			top = max(top, uint64(newestState(tx)))
			r.done("the number %s is made anew", metaGroups)
			if err := putNumber(tx, metaGroups, top); err != nil {
				return err
			}
		}
		n := uint64(tx.Bucket(bucketMetadata).Stats().KeyN)
		if was, err := metaNumber(tx, metaMetadata); err == nil && was > n {
			r.lose("metadata of %d of %d paths", was-n, was)
		} else if err != nil || was != n {
			r.done("there are %d paths with metadata", n)
		}
		return errors.Join(r.newName(tx), putNumber(tx, metaMetadata, n))
	}, nil)
}

// newName gives the store a new name: no backup of before tells what is here now.
func (r *repairing) newName(tx *boltfile.Tx) error {
	if tx.Bucket(bucketMeta).Get(metaStore) == nil {
		r.done("the database has a new name")
	}
	return putStoreID(tx)
}

// window puts the reorder window that was in force at the catalogue's position, as the log tells
// it.
func (r *repairing) window(tx *boltfile.Tx) error {
	upto, err := metaNumber(tx, metaCatalogue)
	if err != nil {
		return err
	}
	window, known := uint64(0), false
	if l, err := wal.Open(filepath.Join(r.s.dir, dirLog), wal.Options{ReadOnly: true}); err == nil {
		known = l.First() == 1 // a new store has none
		err = l.Replay(0, func(p wal.Pos, rec []byte) error {
			if p <= wal.Pos(upto) && len(rec) > 0 && rec[0] == record.KindSettings {
				x := record.Reader{Rest: rec[1:]}
				window, known = uint64(x.Time(0)), true
			}
			return nil
		})
		known = known && err == nil
		_ = l.Close() // it was only read
	}
	if known {
		r.done("the number %s is taken from the log", metaReorder)
	} else {
		window = 0
		r.lose("the reorder window: samples that came late are lost, of those that only the log has")
	}
	return putNumber(tx, metaReorder, window)
}

// index makes names, labels and counts anew from the records of the series, and records that are
// missing from these.
func (r *repairing) index() error {
	return r.s.db.Update(nil, func(tx *boltfile.Tx) error {
		names, series := make(map[string][]byte), make(map[string][]byte)
		old := make(map[Ref]string) // by name, those without a record
		c := tx.Bucket(bucketNames).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			ref, err := r.s.catalogue.decodeName(k, v)
			if err != nil {
				r.lose("name %q: %v", k, err)
				names[string(k)] = nil
			} else if tx.Bucket(bucketSeries).Get(refKey(ref)) == nil {
				old[ref] = string(k)
			}
		}
		if err := r.records(tx, old, series); err != nil {
			return err
		}
		if err := errors.Join(putAll(tx, bucketNames, names), putAll(tx, bucketSeries, series)); err != nil {
			return err
		}
		clear(names)
		clear(series)
		count := uint64(0)
		labels := make(map[string]*posting)
		c = tx.Bucket(bucketSeries).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			rec, err := r.s.catalogue.storedRecord(k, v)
			if err != nil || len(k) != 8 || !r.s.catalogue.numbered(Ref(binary.BigEndian.Uint64(k))) {
				r.lose("series %s", damage.KeyText(k))
				series[string(k)] = nil
				continue
			}
			count++
			key := nameKey(rec.path)
			if got := tx.Bucket(bucketNames).Get([]byte(key)); got == nil {
				names[key] = bytes.Clone(k)
				r.done("name %q leads to its series again", rec.path)
			}
			ref := Ref(binary.BigEndian.Uint64(k))
			cl := r.s.catalogue.class(ref.class())
			for l := range rec.indexed() {
				at := string(groupKey(labelKey(l), cl.id, ref.number()>>cl.shift))
				if labels[at] == nil {
					labels[at] = new(posting)
				}
				labels[at].set(cl.index(ref.number()))
			}
		}
		if err := errors.Join(putAll(tx, bucketNames, names), putAll(tx, bucketSeries, series), r.labels(tx, labels)); err != nil {
			return err
		}
		return r.recounted(tx, count)
	}, nil)
}

// recounted puts the number of series that have records, and notes how many more the old file
// counts.
func (r *repairing) recounted(tx *boltfile.Tx, count uint64) error {
	n, err := metaNumber(tx, metaCount)
	if err == nil && n == count {
		return nil
	}
	if known := count + uint64(len(r.nameOnly)); err == nil && n > known {
		r.counted, r.nameless = n, n-known
	}
	r.done("there are %d series", count)
	return putNumber(tx, metaCount, count)
}

// labels makes the label index anew where it differs.
func (r *repairing) labels(tx *boltfile.Tx, labels map[string]*posting) error {
	pairs := make(map[string][]byte)
	c := tx.Bucket(bucketLabels).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		_, p, err := r.s.catalogue.storedPosting(k, v)
		if want := labels[string(k)]; want == nil || err != nil || *want != p {
			pairs[string(k)] = nil
		} else {
			delete(labels, string(k))
		}
	}
	for k, p := range labels {
		pairs[k] = p.append(nil)
	}
	if len(pairs) > 0 {
		r.done("%d entries of the label index are made anew", len(pairs))
	}
	return putAll(tx, bucketLabels, pairs)
}

// records makes the records of series that have names only: their states have the definitions, the
// index the labels.
func (r *repairing) records(tx *boltfile.Tx, old map[Ref]string, series map[string][]byte) error {
	if len(old) == 0 {
		return nil
	}
	entries := r.indexed(tx, old)
	for _, ref := range slices.Sorted(maps.Keys(old)) {
		name := old[ref]
		cl := r.s.catalogue.class(ref.class())
		g := &group{c: cl, id: ref.number() >> cl.shift}
		i := cl.index(ref.number())
		v := tx.Bucket(bucketState).Get(g.stateKey())
		err := damage.ErrMissing
		if v != nil {
			err = g.decodeState(v)
		}
		if err != nil || i >= g.n || !g.alive(i) || g.defs[i] == 0 || int(g.defs[i]) > len(*r.s.catalogue.defs.Load()) {
			r.nameOnly[ref] = name
		} else {
			rec := &seriesRecord{def: g.defs[i], path: name, labels: entries[ref].labels}
			series[string(refKey(ref))] = rec.append(nil)
			r.done("the record of series %q is made anew, with %d labels", name, len(rec.labels))
			r.unsure = true
			entries[ref].tell(r, name)
		}
		g.unload()
	}
	return nil
}

// An indexedSeries is what the label index tells of a series.
type indexedSeries struct {
	labels []Label
	names  []string // of labels
	listed bool     // it is in the entry that has all series
}

// indexed returns what the label index tells of the series in old.
func (r *repairing) indexed(tx *boltfile.Tx, old map[Ref]string) map[Ref]*indexedSeries {
	out := make(map[Ref]*indexedSeries)
	for ref := range old {
		out[ref] = new(indexedSeries)
	}
	c := tx.Bucket(bucketLabels).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		id, p, err := r.s.catalogue.storedPosting(k, v)
		if err != nil {
			continue
		}
		part := bytes.SplitN(k, zeroByte, 3)
		name, value := string(part[0]), string(part[1])
		for _, ref := range r.s.catalogue.refsOf(nil, refSet{{id, p}}) {
			is := out[ref]
			switch {
			case is == nil:
			case name != "" && value != "":
				is.labels = append(is.labels, Label{name, value})
			case name != "":
				is.names = append(is.names, name)
			case value == "": // else it is a definition
				is.listed = true
			}
		}
	}
	return out
}

// tell tells of the labels that are known to be lost of the series of a path.
func (is *indexedSeries) tell(r *repairing, path string) {
	for _, name := range is.names {
		if !slices.ContainsFunc(is.labels, func(l Label) bool { return l.Name == name }) {
			r.lose("series %q: the value of its label %s is lost", path, name)
		}
	}
	if !is.listed {
		r.lose("series %q: its record is lost, and so are entries of the label index: it may have had other labels", path)
	}
}
