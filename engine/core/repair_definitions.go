package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// The record of a series says which definition it has and which record of the log made it. So a
// definition that cannot be read comes from the log, if the log still has the record that made one
// of its series. Any other is lost: an empty value takes its place, since definitions are numbered.
// Its series stay in the catalogue until the log is replayed, because what the log holds was
// decided with them there; then they are dropped.

// A definitionSearch looks for definitions that cannot be read.
type definitionSearch struct {
	r      *repairing
	known  map[string]bool         // codes of those that can be read
	shapes map[uint32]string       // by class
	lost   map[uint32]int          // those that cannot be read, with the number of their series
	born   map[wal.Pos][]definedAt // where the log has made series of these
	found  map[uint32]string       // codes that the log has
	proved map[uint32]string       // codes whose checksum tells their number
	first  wal.Pos                 // of the log
	reason error                   // why the log cannot be read, or not to its end
	stray  [][]byte                // keys that no definition can have
}

// definedAt is a series of a log record, and what it should be.
type definedAt struct {
	nth   uint32
	class uint32
	def   uint32
}

// definitions makes the bucket of the definitions whole.
func (r *repairing) definitions() error {
	x := &definitionSearch{
		r: r, known: make(map[string]bool), shapes: make(map[uint32]string), lost: make(map[uint32]int),
		born: make(map[wal.Pos][]definedAt), found: maps.Clone(r.learned), proved: make(map[uint32]string),
	}
	maps.DeleteFunc(x.found, func(_ uint32, code string) bool { return code == "" })
	if err := r.s.db.View(nil, x.read); err != nil {
		return err
	}
	if len(x.born) > 0 {
		x.reason = x.readLog()
	}
	return r.s.db.Update(bucketDefs, x.write, nil)
}

// read finds out which definitions there are, and which series have one that cannot be read.
func (x *definitionSearch) read(tx *boltfile.Tx) error {
	there := make(map[uint32]bool)
	top := uint32(0) // the highest number that is proved
	cur := tx.Bucket(bucketDefs).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if len(k) != 4 || binary.BigEndian.Uint32(k) == 0 {
			x.stray = append(x.stray, bytes.Clone(k))
			continue
		}
		id := binary.BigEndian.Uint32(k)
		top = max(top, id)
		code, err := record.CutSum(v, bucketDefs, k)
		if err == nil && len(code) > 0 {
			_, err = compileCode(code)
			x.known[string(code)] = err == nil
		}
		there[id] = err == nil
	}
	x.readClasses(tx)
	series := make(map[uint32][]definedBy)
	cur = tx.Bucket(bucketSeries).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		b, err := record.CutSum(v, bucketSeries, k)
		if err != nil || len(k) != 8 {
			continue
		}
		if rec, err := parseRecord(b); err == nil && !there[rec.def] {
			top = max(top, rec.def)
			series[rec.def] = append(series[rec.def], definedBy{rec.born, Ref(binary.BigEndian.Uint64(k)).class()})
		}
	}
	if top > mostDefinitions {
		return damage.InValue(bucketDefs, binary.BigEndian.AppendUint32(nil, top), errors.New("no database has so many definitions"))
	}
	top = x.number(there, top)
	for id := uint32(1); id <= top; id++ {
		if there[id] {
			continue
		}
		x.lost[id] = len(series[id])
		for _, is := range series[id] {
			if is.born.pos > 0 {
				x.born[is.born.pos] = append(x.born[is.born.pos], definedAt{is.born.nth, is.class, id})
			}
		}
	}
	return nil
}

// definedBy is a series whose definition cannot be read.
type definedBy struct {
	born  birth
	class uint32
}

// readClasses reads the shapes of the classes.
func (x *definitionSearch) readClasses(tx *boltfile.Tx) {
	cur := tx.Bucket(bucketClasses).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if b, err := record.CutSum(v, bucketClasses, k); err == nil && len(k) == 4 {
			x.shapes[binary.BigEndian.Uint32(k)], _ = shapeOf(b) // a damaged class is told of later
		}
	}
}

// number finds the numbers of damaged definitions: there are those whose numbers are known, up to
// top. It returns the highest number. The checksum of a value covers its key, so a value whose key
// is damaged proves its number. A damaged value has the number that its key says, if that can be:
// definitions are numbered without gaps.
func (x *definitionSearch) number(there map[uint32]bool, top uint32) uint32 {
	damaged := x.r.damagedDefs
	end := top + uint32(len(damaged))
	for id := uint32(1); id <= end && len(damaged) > 0; id++ {
		if there[id] {
			continue
		}
		key := binary.BigEndian.AppendUint32(nil, id)
		damaged = slices.DeleteFunc(damaged, func(p pair) bool {
			code, err := record.CutSum(p.v, bucketDefs, key)
			if err == nil && len(code) > 0 {
				_, err = compileCode(code)
			}
			if err != nil || there[id] {
				return false
			}
			x.proved[id], x.known[string(code)], there[id] = string(code), true, true
			top = max(top, id)
			return true
		})
	}
	for _, p := range damaged {
		switch id := binary.BigEndian.Uint32(p.k); {
		case id == 0 || id > end:
			x.r.lose("defs %s: no such definition", damage.KeyText(p.k))
		default:
			top = max(top, id)
		}
	}
	return top
}

// mostDefinitions bounds how many empty values a repair may write.
const mostDefinitions = 1 << 24

// readLog takes definitions from the records that made their series.
func (x *definitionSearch) readLog() error {
	l, err := wal.Open(filepath.Join(x.r.s.dir, dirLog), wal.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	x.first = l.First()
	err = l.Replay(0, func(p wal.Pos, rec []byte) error {
		if len(x.born[p]) > 0 && len(rec) > 0 {
			return x.take(p, rec)
		}
		return nil
	})
	return errors.Join(err, l.Close())
}

// take takes the definitions that the record at p gives its series.
func (x *definitionSearch) take(p wal.Pos, rec []byte) error {
	var plan []planned
	r := record.Reader{Rest: bytes.Clone(rec[1:])}
	switch rec[0] {
	case record.KindCreate:
		made, err := x.r.s.catalogue.replayCreate(&r)
		if err != nil {
			return err
		}
		plan = made
	case record.KindImport:
		made, err := x.r.s.replayImport(&r)
		if err != nil {
			return err
		}
		plan = []planned{made.planned}
	}
	for _, at := range x.born[p] {
		if int(at.nth) >= len(plan) {
			continue
		}
		is := &plan[at.nth]
		if shape, known := x.shapes[at.class]; known && shape != is.m.Shape() || x.known[is.def] {
			continue // the record made another series
		}
		if code, known := x.found[at.def]; known && code != is.def {
			return fmt.Errorf("record %d gives definition %d another meaning", p, at.def)
		}
		x.found[at.def] = is.def
	}
	return nil
}

// write puts what was found, and empty values for the rest.
func (x *definitionSearch) write(tx *boltfile.Tx) error {
	r := x.r
	for _, k := range x.stray {
		r.lose("defs %s: no such definition", damage.KeyText(k))
		if err := tx.Bucket(bucketDefs).Delete(k); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(x.proved)) {
		if err := tx.Put(bucketDefs, binary.BigEndian.AppendUint32(nil, id), []byte(x.proved[id])); err != nil {
			return err
		}
		r.done("definition %d has its number again", id)
	}
	r.undefined = make(map[uint32]string)
	for _, id := range slices.Sorted(maps.Keys(x.lost)) {
		series := x.lost[id]
		code, found := x.found[id]
		if err := tx.Put(bucketDefs, binary.BigEndian.AppendUint32(nil, id), []byte(code)); err != nil {
			return err
		}
		if found {
			r.done("definition %d is taken from the log", id)
			continue
		}
		switch {
		case x.reason != nil:
			r.undefined[id] = fmt.Sprintf("the log cannot be read: %v", x.reason)
		case x.first == 0:
			r.undefined[id] = "it is not known which record of the log made it"
		default:
			r.undefined[id] = fmt.Sprintf("the log begins at record %d, after the one that made it", x.first)
		}
		if series == 0 {
			r.lose("definition %d, which no series has", id)
		}
	}
	return nil
}

// dropUndefined drops the series whose definition is lost, once the log is replayed. It tells
// nothing of those that the log has dropped.
func (r *repairing) dropUndefined() error {
	if len(r.undefined) == 0 {
		return nil
	}
	s := r.s
	r.stirred = true // state records may still have series that the log has dropped
	type undefined struct {
		ref Ref
		rec *seriesRecord
	}
	var list []undefined
	err := s.db.View(bucketSeries, func(tx *boltfile.Tx) error {
		cur := tx.Bucket(bucketSeries).Cursor()
		for k, v := cur.First(); k != nil; k, v = cur.Next() {
			rec, changed := s.catalogue.changedRecord(Ref(binary.BigEndian.Uint64(k)))
			if !changed {
				var err error
				if rec, err = s.catalogue.storedRecord(k, v); err != nil {
					return err
				}
			}
			if rec != nil && s.catalogue.definition(rec.def).lost() {
				list = append(list, undefined{Ref(binary.BigEndian.Uint64(k)), rec})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b undefined) int { return bytes.Compare([]byte(a.rec.path), []byte(b.rec.path)) })
	for _, x := range list {
		r.lose("series %q is lost: its definition is damaged, and %s", x.rec.path, r.undefined[x.rec.def])
		if err := r.drop(x.ref, x.rec); err != nil {
			return err
		}
	}
	return nil
}

// drop takes a series out of the catalogue and its group, as if the log had dropped it at its end.
func (r *repairing) drop(ref Ref, rec *seriesRecord) error {
	s := r.s
	s.catalogue.mu.Lock()
	s.catalogue.remove(&Ticket{pos: s.log.get().Last()}, ref, nameKey(rec.path), rec)
	s.catalogue.mu.Unlock()
	r.stirred = true
	c := s.catalogue.class(ref.class())
	g := c.group(ref.number())
	if err := s.loader.lockGroup(g); err != nil {
		return err
	}
	g.stop(c.index(ref.number()))
	g.mu.Unlock()
	return nil
}
