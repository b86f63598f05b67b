package core

import (
	"encoding/binary"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
)

func (cat *catalogue) lookup(key string) (Ref, error) {
	cat.mu.RLock()
	newest, ok := cat.names[key]
	cat.mu.RUnlock()
	ref := newest.ref
	if !ok {
		err := cat.db.View(bucketNames, func(tx *boltfile.Tx) (err error) {
			if v := tx.Bucket(bucketNames).Get([]byte(key)); v != nil {
				ref, err = cat.decodeName([]byte(key), v)
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		if ref != 0 { // the overlay may have changed meanwhile
			cat.mu.RLock()
			if newer, ok := cat.names[key]; ok {
				ref = newer.ref
			}
			cat.mu.RUnlock()
		}
	}
	if ref == 0 {
		return 0, ErrNotFound
	}
	return ref, nil
}

// record returns the catalogue's record of a series.
func (cat *catalogue) record(ref Ref) (*seriesRecord, error) {
	rec, ok := cat.changedRecord(ref)
	if !ok {
		err := cat.db.View(bucketSeries, func(tx *boltfile.Tx) (err error) {
			rec, err = cat.recordIn(tx, ref)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ref %d: %w", ref, err)
		}
	}
	if rec == nil {
		return nil, notFound(ref)
	}
	return rec, nil
}

// changedRecord returns the record of a series if the overlay has it; nil: the series was dropped.
func (cat *catalogue) changedRecord(ref Ref) (*seriesRecord, bool) {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	x, ok := cat.records[ref]
	return x.rec, ok
}

// recordIn returns the record of a series as a transaction shows it, or nil.
func (cat *catalogue) recordIn(tx *boltfile.Tx, ref Ref) (*seriesRecord, error) {
	v := tx.Bucket(bucketSeries).Get(refKey(ref))
	if v == nil {
		return nil, nil
	}
	return cat.storedRecord(refKey(ref), v)
}

func refKey(ref Ref) []byte { return binary.BigEndian.AppendUint64(nil, uint64(ref)) }

func (rec *seriesRecord) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(rec.def))
	return appendLabels(record.AppendText(dst, rec.path), rec.labels)
}

// parseRecord decodes the record of a series.
func parseRecord(b []byte) (*seriesRecord, error) {
	r := record.Reader{Rest: b}
	rec := &seriesRecord{def: uint32(r.Uvarint()), path: r.Text(), labels: readLabels(&r)}
	if r.Err != nil || len(r.Rest) > 0 || rec.def == 0 {
		return nil, fmt.Errorf("catalogue record of %d bytes: %w", len(b), record.ErrParse)
	}
	return rec, nil
}

// decodeRecord is parseRecord. The definition is one that there is.
func (cat *catalogue) decodeRecord(b []byte) (*seriesRecord, error) {
	rec, err := parseRecord(b)
	if err != nil {
		return nil, err
	}
	if cat.definition(rec.def) == nil {
		return nil, fmt.Errorf("series %q: no definition %d: %w", rec.path, rec.def, record.ErrParse)
	}
	return rec, nil
}

// storedRecord checks and decodes a value of the bucket series.
func (cat *catalogue) storedRecord(k, v []byte) (*seriesRecord, error) {
	b, err := record.CutSum(v, bucketSeries, k)
	if err == nil {
		var rec *seriesRecord
		if rec, err = cat.decodeRecord(b); err == nil {
			return rec, nil
		}
	}
	e := damage.InValue(bucketSeries, k, err)
	cat.damage.Note(e)
	return nil, e
}

// decodeName checks and decodes a value of the bucket names. The class of the series must exist.
func (cat *catalogue) decodeName(k, v []byte) (Ref, error) {
	b, err := record.CutSum(v, bucketNames, k)
	if err == nil {
		if len(b) == 8 && cat.numbered(Ref(binary.BigEndian.Uint64(b))) {
			return Ref(binary.BigEndian.Uint64(b)), nil
		}
		err = record.ErrParse
	}
	e := damage.InValue(bucketNames, k, err)
	cat.damage.Note(e)
	return 0, e
}

// numbered reports whether the class and the group of a reference exist.
func (cat *catalogue) numbered(ref Ref) bool {
	c := cat.class(ref.class())
	return c != nil && c.group(ref.number()) != nil
}

// recordOr returns the record of a series, or an empty one if it cannot be read.
func (cat *catalogue) recordOr(ref Ref) *seriesRecord {
	rec, err := cat.record(ref)
	if err != nil {
		return &seriesRecord{}
	}
	return rec
}

func (cat *catalogue) seriesOf(ref Ref, rec *seriesRecord) Series {
	return Series{Ref: ref, Path: rec.path, Labels: rec.labels, Definition: cat.definition(rec.def).m.Definition()}
}

// pathOf returns the path of a series for a message, or "" if it cannot be read. It uses the
// transaction that met the damage: a second transaction could wait for a writer that waits for the
// first.
func (cat *catalogue) pathOf(tx *boltfile.Tx, c *class, group uint32, index int) string {
	ref := c.refAt(group, index)
	rec, ok := cat.changedRecord(ref)
	if !ok {
		rec, _ = cat.recordIn(tx, ref) // a damaged record has no path to tell
	}
	if rec == nil {
		return ""
	}
	return rec.path
}
