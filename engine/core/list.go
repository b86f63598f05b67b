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
	chunk := listFirst
	if q.Page > 0 {
		chunk = min(q.Page, listChunk)
	}
	newer := s.catalogue.nameTable.view(&s.catalogue)
	var names []nameRef
	var refs []Ref
	for more := true; more; chunk = min(4*chunk, listChunk) {
		var err error
		if names, more, err = s.catalogue.someNames(names[:0], newer, prefix, after, chunk, passed); err != nil {
			return err
		}
		refs = refs[:0]
		for _, x := range names {
			refs, after = append(refs, x.ref), x.key
		}
		ended := false
		err = s.resolve(ctx, refs, passed, func(_ int, x Series) bool {
			ended = strings.HasPrefix(x.Path, prefix) && !fn(x) // else it was renamed meanwhile
			return !ended
		})
		if ended || err != nil {
			return err
		}
	}
	return nil
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

// someNames appends to out up to n names that begin with prefix and sort after after. more reports
// whether there are more such names.
func (cat *catalogue) someNames(out []nameRef, newer tableView[Ref], prefix, after string, n int, passed *passedOver) (_ []nameRef, more bool, err error) {
	prefix = nameKey(prefix)
	whole := prefix == "" && after == ""
	err = cat.db.View(bucketNames, func(tx *boltfile.Tx) error {
		c := newer.cursor(tx.Bucket(bucketNames))
		stored := uint64(0)
		for c.seek([]byte(max(prefix, after))); c.has(prefix); c.next() {
			if string(c.key) <= after && after != "" {
				continue
			}
			if c.inDB {
				stored++
			}
			ref := cat.nameAt(&c, passed)
			if ref != 0 && len(out) == n {
				more = true
				return nil
			}
			if ref != 0 {
				out = append(out, nameRef{string(c.key), ref})
			}
		}
		if !whole || passed.n > 0 {
			return nil
		}
		count, err := metaNumber(tx, metaCount)
		if err == nil && count != stored {
			err = &DamageError{Bucket: string(bucketNames), Err: fmt.Errorf("%d names, not the %d that were written", stored, count)}
		}
		passed.over(err)
		return nil
	})
	return out, more, err
}

// nameAt returns the series of the name that c is at; 0: none, or the name is damaged.
func (cat *catalogue) nameAt(c *tableCursor[Ref], passed *passedOver) Ref {
	if c.change != nil {
		return *c.change
	}
	ref, err := cat.decodeName(c.key, c.value)
	if passed.over(err) {
		return 0
	}
	return ref
}
