package core

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/match"
	"github.com/rondo-db/rondo/engine/internal/table"
	"github.com/rondo-db/rondo/rra"
)

// A Query says which series Select yields, and in which order. The zero Query is all series in no
// order.
type Query struct {
	// Prefix begins the path of each series, and After sorts before it: the path of the last series
	// of the page before. A trailing .rrd does not count in the order. Both need the order ByPath.
	Prefix, After string
	// Matchers match each series. They do not go with the order ByPath.
	Matchers []Matcher
	Order    Order
	// Page is how many series the caller takes, about. The query is then cheap: not many more are
	// read of all partitions together. A caller who goes on gets the others as well, more slowly.
	// 0: nobody knows how many. It is for the order ByPath.
	Page int
	// RefsOnly leaves out all but Ref of each series. The records of series are read only where the
	// label index would take longer. It does not go with the order ByPath.
	RefsOnly bool
}

// An Order is an order of series.
type Order int

// The orders of a Query.
const (
	Unordered Order = iota
	ByRef           // of references
	ByPath          // of paths
)

// Check returns an error that wraps ErrInvalid if q has what does not go together.
func (q *Query) Check() error {
	byPath := q.Order == ByPath
	if q.Order < Unordered || q.Order > ByPath || byPath && (len(q.Matchers) > 0 || q.RefsOnly) ||
		!byPath && (q.Prefix != "" || q.After != "") {
		return fmt.Errorf("a query that cannot be answered: %w", ErrInvalid)
	}
	return nil
}

// A LabelQuery asks for names, values or combinations of labels.
type LabelQuery struct {
	Name     string    // of the label whose values are wanted; empty: the names of all labels
	Matchers []Matcher // of the series that have them; none: all series
	Most     int       // return so many texts at most; 0: all

	// Combine asks for the combinations of values of the labels Names and of a definition, in place
	// of what Name says.
	Combine bool
	Names   []string
}

// Labels is the answer to a LabelQuery.
type Labels struct {
	Texts        []string      // names or values, sorted
	Combinations []Combination // each once, in no order
}

// A Combination is values of several labels and a definition that at least one series has.
type Combination struct {
	Values     []string // in order of the names asked for; empty where the series lack the label
	Definition *rra.Definition
}

// Select yields the series of a query. The label index answers every comparison; a regular
// expression is compared with the values of its label unless it is a list of values. A series that
// is made, dropped, relabelled or renamed meanwhile may be yielded as it was or as it is: see
// [Store.Watch]. Select skips damaged entries; if it met any, it yields an error that wraps
// ErrDamaged last.
func (s *Store) Select(ctx context.Context, q Query) iter.Seq2[Series, error] {
	return func(yield func(Series, error) bool) {
		err := q.Check()
		if err == nil {
			err = s.enter()
		}
		if err != nil {
			yield(Series{}, err)
			return
		}
		defer s.leave()
		var passed damage.Skipped
		ended := false
		each := func(x Series) bool {
			ended = !yield(x, nil)
			return !ended
		}
		switch {
		case q.Order == ByPath:
			err = s.list(ctx, q, &passed, each)
		case q.RefsOnly:
			var refs []Ref
			refs, err = s.selectRefs(ctx, q.Matchers, &passed)
			for i := 0; i < len(refs) && !ended; i++ {
				each(Series{Ref: refs[i]})
			}
		default:
			err = s.selected(ctx, q.Matchers, &passed, each)
		}
		if err == nil {
			err = passed.Err()
		}
		if err != nil && !ended {
			yield(Series{}, err)
		}
	}
}

// Refs returns the references of the series of e that match all of ms, in order. If the error wraps
// ErrDamaged, the references are those that can be read.
func Refs(ctx context.Context, e Engine, ms []Matcher) (out []Ref, err error) {
	for x, failed := range e.Select(ctx, Query{Matchers: ms, Order: ByRef, RefsOnly: true}) {
		if failed != nil {
			err = failed
			break
		}
		out = append(out, x.Ref)
	}
	return out, err
}

// selected calls fn with the series that match all of ms, in order of their references, until fn
// returns false.
func (s *Store) selected(ctx context.Context, ms []Matcher, passed *damage.Skipped, fn func(Series) bool) error {
	refs, _, err := s.matching(ctx, ms, passed)
	if err != nil {
		return err
	}
	return s.resolve(ctx, refs, passed, func(_ int, x Series) bool {
		return !match.All(ms, nameKey(x.Path), x.Labels) || fn(x)
	})
}

// selectRefs returns the references of the series that match all of ms, in order.
func (s *Store) selectRefs(ctx context.Context, ms []Matcher, passed *damage.Skipped) ([]Ref, error) {
	refs, exact, err := s.matching(ctx, ms, passed)
	if err != nil || exact {
		return refs, err
	}
	var out []Ref
	err = s.resolve(ctx, refs, passed, func(i int, x Series) bool {
		if match.All(ms, nameKey(x.Path), x.Labels) {
			out = append(out, refs[i])
		}
		return true
	})
	return out, err
}

// matching returns sorted references that include all series that match ms, and no others if exact.
func (s *Store) matching(ctx context.Context, ms []Matcher, passed *damage.Skipped) (refs []Ref, exact bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	terms, err := match.Terms(ms)
	if err != nil {
		return nil, false, asInvalid(err)
	}
	err = s.catalogue.view(ctx, passed, func(r *labelindex.Reader) {
		var set labelindex.Set
		if len(terms) == 0 {
			set, exact = r.Everything(), true
		} else {
			set, exact = r.Selected(terms)
		}
		refs = s.catalogue.refsOf(nil, set)
	})
	return refs, exact && passed.None(), err
}

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
func (s *Store) list(ctx context.Context, q Query, passed *damage.Skipped, fn func(Series) bool) error {
	prefix, after := strings.TrimLeft(q.Prefix, "/"), nameKey(strings.TrimLeft(q.After, "/"))
	chunk := listFirst
	if q.Page > 0 {
		chunk = min(q.Page, listChunk)
	}
	newer := s.catalogue.nameTable.View(s.catalogue.pending)
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

// someNames appends to out up to n names that begin with prefix and sort after after. more reports
// whether there are more such names.
func (cat *catalogue) someNames(out []nameRef, newer table.View[Ref], prefix, after string, n int, passed *damage.Skipped) (_ []nameRef, more bool, err error) {
	prefix = nameKey(prefix)
	whole := prefix == "" && after == ""
	err = cat.db.View(bucketNames, func(tx *boltfile.Tx) error {
		c := newer.Cursor(tx, bucketNames, passed)
		stored := uint64(0)
		for c.Seek([]byte(max(prefix, after))); c.Has(prefix); c.Next() {
			if string(c.Key) <= after && after != "" {
				continue
			}
			if c.InDB {
				stored++
			}
			ref := cat.nameAt(&c, passed)
			if ref != 0 && len(out) == n {
				more = true
				return nil
			}
			if ref != 0 {
				out = append(out, nameRef{string(c.Key), ref})
			}
		}
		if c.End(); !whole || !passed.None() {
			return nil
		}
		count, err := metaNumber(tx, metaCount)
		if err == nil && count != stored {
			err = &DamageError{Bucket: string(bucketNames), Err: fmt.Errorf("%d names, not the %d that were written", stored, count)}
		}
		passed.Skip(err)
		return nil
	})
	return out, more, err
}

// nameAt returns the series of the name that c is at; 0: none, or the name is damaged.
func (cat *catalogue) nameAt(c *table.Cursor[Ref], passed *damage.Skipped) Ref {
	if c.Change != nil {
		return *c.Change
	}
	ref, err := boltfile.Decode(cat.damage, bucketNames, c.Key, c.Value, cat.decodeName)
	if passed.Skip(err) {
		return 0
	}
	return ref
}

// Resolve calls fn with the catalogue entry of each of refs, in order, until fn returns false. It
// leaves out references of series that do not exist. It is fastest for references in order. It
// skips damaged entries; the error then wraps ErrDamaged. fn must not call methods of the store
// that change it.
func (s *Store) Resolve(ctx context.Context, refs []Ref, fn func(i int, x Series) bool) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	var passed damage.Skipped
	return cmp.Or(s.resolve(ctx, refs, &passed, fn), passed.Err())
}

// How many records are read in one transaction: few at first, because fn may end early.
const (
	resolveFirst = 32
	resolveChunk = 512
)

// resolve is Resolve for who has entered the store, and keeps damage in passed. Records are read
// some hundred at a time, so that fn runs outside of the transaction.
func (s *Store) resolve(ctx context.Context, refs []Ref, passed *damage.Skipped, fn func(i int, x Series) bool) error {
	records := make([]*seriesRecord, min(len(refs), resolveChunk))
	var order []placedRef
	n := resolveFirst
	for at := 0; at < len(refs); at, n = at+n, min(4*n, resolveChunk) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := refs[at:min(at+n, len(refs))]
		order = s.catalogue.changedRecords(order[:0], part, records)
		if err := s.catalogue.storedRecords(order, records); err != nil {
			return err
		}
		for i, ref := range part {
			rec := records[i]
			if rec == nil {
				var err error
				if rec, err = s.listed(ref); errors.Is(err, ErrNotFound) || passed.Skip(err) {
					continue // dropped, or damaged
				} else if err != nil {
					return err
				}
			}
			if !fn(at+i, s.catalogue.seriesOf(ref, rec)) {
				return nil
			}
		}
	}
	return nil
}

// A placedRef is a reference and its place among others.
type placedRef struct {
	ref Ref
	at  int
}

// changedRecords puts the records of refs that changed into records. It appends the other refs to
// dst, in the order in which the database has their records. In order of their names they would be
// all over it.
func (cat *catalogue) changedRecords(dst []placedRef, refs []Ref, records []*seriesRecord) []placedRef {
	cat.mu.RLock()
	for i, ref := range refs {
		x, ok := cat.records[ref]
		if records[i] = x.rec; !ok {
			dst = append(dst, placedRef{ref, i})
		}
	}
	cat.mu.RUnlock()
	slices.SortFunc(dst, func(a, b placedRef) int { return cmp.Compare(a.ref, b.ref) })
	return dst
}

// storedRecords reads the records of refs, which are in order. A record that the database does not
// have, or that is damaged, is nil.
func (cat *catalogue) storedRecords(refs []placedRef, records []*seriesRecord) error {
	if len(refs) == 0 {
		return nil
	}
	return cat.db.View(bucketSeries, func(tx *boltfile.Tx) error {
		c := tx.Bucket(bucketSeries).Cursor()
		var k, v []byte
		for _, x := range refs {
			i, key := x.at, refKey(x.ref)
			if k != nil && !bytes.Equal(k, key) {
				k, v = c.Next()
			}
			if !bytes.Equal(k, key) {
				k, v = c.Seek(key)
			}
			records[i] = nil
			if bytes.Equal(k, key) {
				records[i], _ = cat.storedRecord(k, v) // the caller reads a damaged record again
			}
		}
		return nil
	})
}
