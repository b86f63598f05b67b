package core

import (
	"bytes"
	"encoding/binary"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
)

// A stray is a series of a state record that the catalogue does not have: its name and its record
// are lost, and the log does not tell them.
type stray struct {
	g     *group
	index int
}

// strays ends such series. Their rows go with those of the slots that they are in.
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
					if g.alive(i) && r.unnamed(tx, makeRef(c.id, id<<c.shift+uint32(i))) {
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
			uint64(makeRef(x.g.c.id, x.g.id<<x.g.c.shift+uint32(x.index))), damage.TimeText(last.Unix()))
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

// unnamed says that neither the database nor the log has a record of a series.
func (r *repairing) unnamed(tx *boltfile.Tx, ref Ref) bool {
	_, changed := r.s.catalogue.changedRecord(ref) // one that is dropped has ended in its group
	return !changed && tx.Bucket(bucketSeries).Get(refKey(ref)) == nil
}
