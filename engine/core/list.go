package core

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
)

// How many names are read in one transaction: few at first, because most lists end early.
const (
	listFirst = 64
	listChunk = 1024
)

type nameRef struct {
	key string
	ref Ref
}

// list calls fn with the series of a query in order of paths, until fn returns false.
func (s *Store) list(ctx context.Context, q Query, passed *passedOver, fn func(Series) bool) error {
	prefix, after := strings.TrimLeft(q.Prefix, "/"), nameKey(strings.TrimLeft(q.After, "/"))
	l := listing{prefix: prefix, after: after, chunk: listFirst, more: true, overlay: s.catalogue.overlayNames(prefix, after)}
	if q.Page > 0 {
		l.chunk = min(q.Page, listChunk)
	}
	for l.more {
		if err := l.read(&s.catalogue, passed); err != nil {
			return err
		}
		ended := false
		err := s.resolve(ctx, l.refs, passed, func(_ int, x Series) bool {
			ended = strings.HasPrefix(x.Path, prefix) && !fn(x) // else it was renamed meanwhile
			return !ended
		})
		if ended || err != nil {
			return err
		}
	}
	return nil
}

// A listing reads names in order, of the database and of the overlay, which is newer.
type listing struct {
	prefix, after string
	overlay       overlayNames // not read yet
	chunk         int          // names to read next
	stored        []nameRef    // the last names read of the database
	refs          []Ref        // of the names read last
	more          bool         // there may be more names
}

// read reads the next names of the database, and those of the overlay that lie between: two chunks
// of names at most.
func (l *listing) read(cat *catalogue, passed *passedOver) (err error) {
	l.stored, l.more, err = cat.storedNames(l.stored[:0], l.prefix, l.after, l.chunk, passed)
	if err != nil {
		return err
	}
	most := 2 * l.chunk
	l.chunk = min(4*l.chunk, listChunk)
	l.refs = l.refs[:0]
	stored := l.stored
	for n := 0; ; n++ {
		newer := l.overlay.first()
		if len(stored) == 0 && (l.more || newer == nil) {
			return nil
		}
		if n == most {
			l.more = true // what is left of stored is read again
			return nil
		}
		var x nameRef
		if newer != nil && (len(stored) == 0 || newer.key <= stored[0].key) {
			x = *newer
			l.overlay.pass(x.key)
			if len(stored) > 0 && stored[0].key == x.key {
				stored = stored[1:]
			}
		} else {
			x, stored = stored[0], stored[1:]
		}
		l.after = x.key
		if x.ref != 0 { // else it was dropped
			l.refs = append(l.refs, x.ref)
		}
	}
}

// listed returns the record of a series that an index names. A missing record of a living series is
// damage.
func (s *Store) listed(ref Ref) (*seriesRecord, error) {
	rec, err := s.catalogue.record(ref)
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
	e := damage.InValue(bucketSeries, refKey(ref), damage.ErrMissing)
	s.damage.Note(e)
	return nil, e
}

// passedOver collects the damage of entries that a list skips.
type passedOver struct {
	n     int
	first error
}

// over keeps err if it is damage.
func (p *passedOver) over(err error) bool {
	if !errors.Is(err, ErrDamaged) {
		return false
	}
	if p.n++; p.n == 1 {
		p.first = err
	}
	return true
}

// err returns an error that tells what was skipped, or nil.
func (p *passedOver) err() error {
	if p.n < 2 {
		return p.first
	}
	return fmt.Errorf("%d damaged entries are left out, the first: %w", p.n, p.first)
}

// storedNames appends to out up to n names of the database that begin with prefix and sort after
// after. more reports whether the database has more such names.
func (cat *catalogue) storedNames(out []nameRef, prefix, after string, n int, passed *passedOver) (_ []nameRef, more bool, err error) {
	prefix = nameKey(prefix)
	err = cat.db.View(bucketNames, func(tx *boltfile.Tx) error {
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
			ref, err := cat.decodeName(k, v)
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
