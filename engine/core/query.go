package core

import (
	"context"
	"fmt"
	"iter"
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

// A LabelQuery asks for names or values of labels.
type LabelQuery struct {
	Name     string    // of the label whose values are wanted; empty: the names of all labels
	Matchers []Matcher // of the series that have them; none: all series
	Most     int       // return so many at most; 0: all
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
		var passed passedOver
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
			err = passed.err()
		}
		if err != nil && !ended {
			yield(Series{}, err)
		}
	}
}

// Refs returns the references of the series of e that match all of ms, in order. If the error wraps
// ErrDamaged, the references are those that can be read.
func Refs(ctx context.Context, e Engine, ms []Matcher) (out []Ref, err error) {
	if s, ok := e.(*Store); ok {
		return s.refs(ctx, ms)
	}
	for x, failed := range e.Select(ctx, Query{Matchers: ms, Order: ByRef, RefsOnly: true}) {
		if failed != nil {
			err = failed
			break
		}
		out = append(out, x.Ref)
	}
	return out, err
}

// refs is Refs of a Store, which has all of them at once.
func (s *Store) refs(ctx context.Context, ms []Matcher) ([]Ref, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var passed passedOver
	refs, err := s.selectRefs(ctx, ms, &passed)
	if err == nil {
		err = passed.err()
	}
	return refs, err
}
