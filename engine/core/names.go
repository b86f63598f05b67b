package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/wal"
)

const suffix = ".rrd"

// nameKey is what a path is looked up by: a trailing .rrd does not count.
func nameKey(p string) string { return strings.TrimSuffix(p, suffix) }

// cleanPath returns the look-up key and the cleaned form of a path: no leading
// slash, no "." and no empty component. A path may not leave the top. Every way into the store goes through here or through
// checkLabels, so that a name is UTF-8 without control characters wherever it is printed, sent or quoted.
func cleanPath(p string) (key, clean string, err error) {
	clean = path.Clean(strings.TrimLeft(p, "/"))
	switch {
	case len(p) > MaxPath:
		return "", "", invalid("path of %d bytes: at most %d are possible", len(p), MaxPath)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", "", invalid("path %.200q leaves the store", p)
	}
	if err := text.Check(p); err != nil {
		return "", "", invalid("path %.200q %w", p, err)
	}
	key = nameKey(clean)
	if clean == "." || key == "" || strings.HasSuffix(key, "/") {
		return "", "", invalid("path %.200q names no series", p)
	}
	return key, clean, nil
}

// Lookup returns the series of a path (a trailing .rrd may be left out or added).
func (s *Store) Lookup(p string) (Ref, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	key, _, err := cleanPath(p)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	ref, err := s.lookup(key)
	if err == nil {
		s.catalogue.awaitArrival(ref)
	}
	return ref, err
}

func (s *Store) lookup(key string) (Ref, error) {
	cat := &s.catalogue
	cat.mu.RLock()
	ref, ok := cat.names[key]
	cat.mu.RUnlock()
	if !ok {
		err := s.db.View(bucketNames, func(tx *bolt.Tx) (err error) {
			if v := tx.Bucket(bucketNames).Get([]byte(key)); v != nil {
				ref, err = s.decodeName([]byte(key), v)
				return err
			}
			return s.db.absent(tx, bucketNames, []byte(key))
		})
		if err != nil {
			return 0, s.whileReplaying(err)
		}
		if ref != 0 { // it may have changed while the database was asked
			cat.mu.RLock()
			if newer, ok := cat.names[key]; ok {
				ref = newer
			}
			cat.mu.RUnlock()
		}
	}
	if ref == 0 {
		return 0, ErrNotFound
	}
	return ref, nil
}

// Series returns the catalogue entry of a reference.
func (s *Store) Series(ref Ref) (Series, error) {
	if err := s.enter(); err != nil {
		return Series{}, err
	}
	defer s.leave()
	rec, err := s.record(ref)
	if err != nil {
		return Series{}, err
	}
	return s.seriesOf(ref, rec), nil
}

func (s *Store) seriesOf(ref Ref, rec *seriesRecord) Series {
	return Series{Ref: ref, Path: rec.path, Labels: rec.labels, Definition: s.definition(rec.def).m.Definition()}
}

// record returns the catalogue's record of a series.
func (s *Store) record(ref Ref) (*seriesRecord, error) {
	rec, ok := s.changedRecord(ref)
	if !ok {
		err := s.db.View(bucketSeries, func(tx *bolt.Tx) (err error) {
			rec, err = s.recordIn(tx, ref)
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

// changedRecord returns the record of a series that the database does not hold yet; nil: it is dropped.
func (s *Store) changedRecord(ref Ref) (*seriesRecord, bool) {
	cat := &s.catalogue
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	rec, ok := cat.records[ref]
	return rec, ok
}

// recordIn returns the record that a transaction shows of a series; nil: there is none.
func (s *Store) recordIn(tx *bolt.Tx, ref Ref) (*seriesRecord, error) {
	v := tx.Bucket(bucketSeries).Get(refKey(ref))
	if v == nil {
		return nil, s.db.absent(tx, bucketSeries, refKey(ref))
	}
	return s.storedRecord(refKey(ref), v)
}

func refKey(ref Ref) []byte { return binary.BigEndian.AppendUint64(nil, uint64(ref)) }

func (rec *seriesRecord) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(rec.def))
	dst = binary.AppendUvarint(dst, uint64(rec.born.pos))
	dst = binary.AppendUvarint(dst, uint64(rec.born.nth))
	return appendLabels(record.AppendText(dst, rec.path), rec.labels)
}

func (s *Store) decodeRecord(b []byte) (*seriesRecord, error) {
	r := record.Reader{Rest: b}
	rec := &seriesRecord{def: uint32(r.Uvarint()), born: birth{wal.Pos(r.Uvarint()), uint32(r.Uvarint())}, path: r.Text(), labels: readLabels(&r)}
	if r.Err != nil || len(r.Rest) > 0 || rec.def == 0 || int(rec.def) > len(*s.catalogue.defs.Load()) {
		return nil, fmt.Errorf("catalogue record of %d bytes: %w", len(b), record.ErrParse)
	}
	return rec, nil
}

// storedRecord checks and decodes a value of the bucket series.
func (s *Store) storedRecord(k, v []byte) (*seriesRecord, error) {
	b, err := record.CutSum(v, bucketSeries, k)
	if err == nil {
		var rec *seriesRecord
		if rec, err = s.decodeRecord(b); err == nil {
			return rec, nil
		}
	}
	e := damagedValue(bucketSeries, k, err)
	s.damage.note(e)
	return nil, e
}

// decodeName checks and decodes a value of the bucket names: the series is one of a class that there is.
func (s *Store) decodeName(k, v []byte) (Ref, error) {
	b, err := record.CutSum(v, bucketNames, k)
	if err == nil {
		if len(b) == 8 && s.numbered(Ref(binary.BigEndian.Uint64(b))) {
			return Ref(binary.BigEndian.Uint64(b)), nil
		}
		err = record.ErrParse
	}
	e := damagedValue(bucketNames, k, err)
	s.damage.note(e)
	return 0, e
}

// numbered says whether a reference is of a class and a group that there are.
func (s *Store) numbered(ref Ref) bool {
	c := s.catalogue.class(ref.class())
	return c != nil && c.group(ref.number()) != nil
}

const listChunk = 1024 // names read in one transaction

type nameRef struct {
	key string
	ref Ref
}

// List yields the series whose path begins with prefix and sorts after after, in order of paths
// (a trailing .rrd does not count in the order). Damaged entries are passed over; where there are some, the last thing
// yielded is an error that wraps ErrDamaged.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[Series, error] {
	return func(yield func(Series, error) bool) {
		if err := s.enter(); err != nil {
			yield(Series{}, err)
			return
		}
		defer s.leave()
		prefix, after := strings.TrimLeft(prefix, "/"), nameKey(strings.TrimLeft(after, "/"))
		overlay := s.overlayNames(prefix, after)
		var passed passedOver
		for {
			stored, more, err := s.storedNames(prefix, after, listChunk, &passed)
			if err != nil {
				yield(Series{}, err)
				return
			}
			for len(stored) > 0 || (!more && len(overlay) > 0) {
				var x nameRef
				switch {
				case len(stored) == 0 || (len(overlay) > 0 && overlay[0].key <= stored[0].key):
					x = overlay[0]
					if len(stored) > 0 && stored[0].key == x.key {
						stored = stored[1:]
					}
					overlay = overlay[1:]
				default:
					x, stored = stored[0], stored[1:]
				}
				after = x.key
				if x.ref == 0 {
					continue
				}
				rec, err := s.listed(x.ref)
				if errors.Is(err, ErrNotFound) || (err == nil && !strings.HasPrefix(rec.path, prefix)) {
					continue // dropped or renamed meanwhile
				}
				if passed.over(err) {
					continue
				}
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					yield(Series{}, err)
					return
				}
				if !yield(s.seriesOf(x.ref, rec), nil) {
					return
				}
			}
			if !more {
				if err := passed.err(); err != nil {
					yield(Series{}, err)
				}
				return
			}
		}
	}
}

// listed is record of a series that an index names. Where the record is missing although the series lives, that is damage.
func (s *Store) listed(ref Ref) (*seriesRecord, error) {
	rec, err := s.record(ref)
	if !errors.Is(err, ErrNotFound) || s.catalogue.removed(ref) {
		return rec, err
	}
	alive := s.withSeries(ref, func(*group, int) {})
	if errors.Is(alive, ErrNotFound) {
		return nil, err // dropped meanwhile
	}
	if s.catalogue.removed(ref) {
		return nil, err
	}
	e := damagedValue(bucketSeries, refKey(ref), errMissing)
	s.damage.note(e)
	return nil, e
}

// passedOver is damage of entries that a list passes over.
type passedOver struct {
	n     int
	first error
}

// over takes err if it is damage.
func (p *passedOver) over(err error) bool {
	if !errors.Is(err, ErrDamaged) {
		return false
	}
	if p.n++; p.n == 1 {
		p.first = err
	}
	return true
}

// err says what was passed over, if anything was.
func (p *passedOver) err() error {
	if p.n < 2 {
		return p.first
	}
	return fmt.Errorf("%d damaged entries are left out, the first: %w", p.n, p.first)
}

// overlayNames returns the uncommitted changes under prefix, sorted.
func (s *Store) overlayNames(prefix, after string) []nameRef {
	cat := &s.catalogue
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	var out []nameRef
	for key, ref := range cat.names {
		if strings.HasPrefix(key, nameKey(prefix)) && key > after {
			out = append(out, nameRef{key, ref})
		}
	}
	slices.SortFunc(out, func(a, b nameRef) int { return strings.Compare(a.key, b.key) })
	return out
}

// storedNames returns up to n names of the database under prefix, after after; more says whether there are others.
func (s *Store) storedNames(prefix, after string, n int, passed *passedOver) (out []nameRef, more bool, err error) {
	prefix = nameKey(prefix)
	err = s.db.View(bucketNames, func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketNames).Cursor()
		k, v := c.Seek([]byte(max(prefix, after)))
		for ; k != nil && strings.HasPrefix(string(k), prefix); k, v = c.Next() {
			if string(k) <= after && after != "" {
				continue
			}
			if len(out) == n {
				more = true
				break
			}
			ref, err := s.decodeName(k, v)
			if err != nil {
				passed.over(err)
				continue
			}
			out = append(out, nameRef{string(k), ref})
		}
		if prefix != "" || after != "" || more || passed.n > 0 {
			return nil
		}
		count, err := metaNumber(tx, metaCount)
		if err == nil && count != uint64(len(out)) {
			err = &DamageError{Bucket: string(bucketNames), Err: fmt.Errorf("%d names, not the %d that were written", len(out), count)}
		}
		passed.over(err)
		return nil
	})
	return out, more, err
}
