package spread

import (
	"context"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// A once is a storage that answers each selector once, and then with the same series again. So a
// sum and a count, which together are an average, are of the same samples. It is for one goroutine.
type once struct {
	storage.Queryable
	answers map[string]*answered
	open    []storage.Querier
}

// An answered is what a storage has answered to a selector.
type answered struct {
	series []storage.Series
	notes  annotations.Annotations
	err    error
}

func newOnce(s storage.Queryable) *once {
	return &once{Queryable: s, answers: make(map[string]*answered)}
}

// close gives back the memory of the answers.
func (o *once) close() {
	for _, q := range o.open {
		_ = q.Close() // it has been read
	}
}

// Querier implements storage.Queryable.
func (o *once) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := o.Queryable.Querier(mint, maxt)
	if err != nil {
		return nil, err
	}
	o.open = append(o.open, q)
	return &onceQuerier{Querier: q, once: o, span: fmt.Sprint(mint, maxt)}, nil
}

type onceQuerier struct {
	storage.Querier
	once *once
	span string
}

// Close implements storage.Querier: the answers are used again.
func (q *onceQuerier) Close() error { return nil }

// Select implements storage.Querier.
func (q *onceQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	asked := *hints
	if asked.Func == "sum" || asked.Func == "count" {
		asked.Func = "" // both get the same rows
	}
	key := fmt.Sprint(q.span, sorted, asked, ms)
	a := q.once.answers[key]
	if a == nil {
		a = new(answered)
		set := q.Querier.Select(ctx, sorted, hints, ms...)
		for set.Next() {
			a.series = append(a.series, set.At())
		}
		a.notes, a.err = set.Warnings(), set.Err()
		q.once.answers[key] = a
	}
	return a.read()
}

// read returns the answer from its beginning.
func (a *answered) read() storage.SeriesSet { return &set{answered: a, left: a.series} }

// A set is one reading of an answer.
type set struct {
	*answered
	left []storage.Series
	at   storage.Series
}

// Next implements storage.SeriesSet.
func (s *set) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.at, s.left = s.left[0], s.left[1:]
	return true
}

// At implements storage.SeriesSet.
func (s *set) At() storage.Series { return s.at }

// Err implements storage.SeriesSet.
func (s *set) Err() error { return s.err }

// Warnings implements storage.SeriesSet.
func (s *set) Warnings() annotations.Annotations { return s.notes }
