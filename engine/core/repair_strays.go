package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
)

// A stray is a series of a state record that the catalogue does not have: its name and its record
// are lost, and the log does not tell them.
type stray struct {
	g     *group
	index int
}

// strays ends such series. Their rows go with those of the slots that they are in. Of series that
// have lost their states too, only the count of the old file tells.
func (r *repairing) strays() error {
	s := r.s
	var list []stray
	var beyond [][]byte // state records of groups that no series has a number of
	err := s.db.View(bucketState, func(tx *boltfile.Tx) error {
		cur := tx.Bucket(bucketState).Cursor()
		for k, v := cur.First(); k != nil; k, v = cur.Next() {
			c := s.catalogue.class(binary.BigEndian.Uint32(k))
			id := binary.BigEndian.Uint32(k[4:])
			if int(id) >= len(*c.groups.Load()) {
				beyond = append(beyond, bytes.Clone(k))
				continue
			}
			g := &group{c: c, id: id}
			if g.decodeState(v) == nil { // else it was made anew
				for i := range g.n {
					if g.alive(i) && r.unnamed(tx, g.ref(i)) {
						list = append(list, stray{(*c.groups.Load())[id], i})
					}
				}
			}
			g.unload()
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, x := range list {
		if err := s.loader.lockGroup(x.g); err != nil {
			return err
		}
		last := x.g.lastUpdate(x.index)
		x.g.stop(x.index)
		x.g.mu.Unlock()
		r.stirred = true
		r.lose("series %#x: its name is lost, and its rows with it; its last update was at %s",
			uint64(x.g.ref(x.index)), damage.TimeText(last.Unix()))
		r.accounted()
	}
	if r.nameless > 0 {
		r.lose("%d of %d series: their names and records are lost, and no state tells of them", r.nameless, r.counted)
	}
	if len(beyond) == 0 {
		return nil
	}
	return s.db.Update(bucketState, func(tx *boltfile.Tx) error {
		for _, k := range beyond {
			r.lose("state %s: no series can be its", keyHex(k))
			if err := tx.Bucket(bucketState).Delete(k); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

// accounted notes that it is known what became of a series that has neither a name nor a record.
func (r *repairing) accounted() { r.nameless -= min(r.nameless, 1) }

// nameLost says, while a repair replays the log, that the series ref was in the catalogue and that
// neither its name nor its record can be read. What the log did with it must be done again: series
// that it made later have the numbers behind.
func (s *Store) nameLost(ref Ref) bool {
	if ref == 0 || !s.catalogue.numbered(ref) {
		return false
	}
	_, err := s.catalogue.record(ref)
	_, changed := s.catalogue.changedRecord(ref)
	return errors.Is(err, ErrNotFound) && !changed
}

// dropNameOnly drops series of which only a name is left, unless the log has dropped them.
func (r *repairing) dropNameOnly() error {
	for _, ref := range slices.Sorted(maps.Keys(r.nameOnly)) {
		rec, changed := r.s.catalogue.changedRecord(ref)
		if changed && rec == nil {
			continue
		}
		if !changed {
			rec = &seriesRecord{path: r.nameOnly[ref]}
		}
		r.lose("series %q: its record and its state are damaged", rec.path)
		if err := r.drop(ref, rec); err != nil {
			return err
		}
	}
	return nil
}

// count puts the number of series.
func (r *repairing) count() error {
	var is, was uint64
	if err := r.s.db.View(bucketSeries, func(tx *boltfile.Tx) (err error) {
		is = uint64(tx.Bucket(bucketSeries).Stats().KeyN)
		was, err = metaNumber(tx, metaCount)
		return err
	}); err != nil || is == was {
		return err
	}
	return r.s.db.Update(bucketMeta, func(tx *boltfile.Tx) error { return putNumber(tx, metaCount, is) }, nil)
}

// unnamed says that neither the database nor the log has a record of a series that a state record
// has.
func (r *repairing) unnamed(tx *boltfile.Tx, ref Ref) bool {
	if tx.Bucket(bucketSeries).Get(refKey(ref)) != nil {
		return false
	}
	_, changed := r.s.catalogue.changedRecord(ref) // one that is dropped has ended in its group
	r.stirred = r.stirred || changed
	return !changed
}

// lostRename tells of a rename in the log whose series cannot be found. If entries of the old file
// are lost, the series may be one of them, and people know it by its new name.
func (b *rebuild) lostRename(from, to string) {
	if len(b.r.got.Lost) > 0 || b.r.nameless > 0 {
		b.r.lose("series %q, which the log renames to %q, is not there", from, to)
	}
}
