package spread

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"
	"golang.org/x/sync/errgroup"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/partial"
)

// Partitions are the partitions of a cluster; a router is some.
type Partitions interface {
	Partitions() int
	// Read calls fn with an engine of a partition, and with another if that cannot be reached.
	Read(ctx context.Context, p int, fn func(e core.Engine) error) error
}

// A remote is an engine on a node that evaluates expressions itself.
type remote interface {
	Evaluate(ctx context.Context, q partial.Question, most int) (*partial.Answer, error)
}

// atOnce is how many partitions are asked at the same time.
const atOnce = 32

// An Asker makes queries whose sums the partitions evaluate. Its methods may be called
// concurrently.
type Asker struct {
	// Engine evaluates the rest of an expression over Storage, which has the series of all
	// partitions.
	Engine     *promql.Engine
	Storage    storage.Queryable
	Partitions Partitions
	Local      *Evaluator // evaluates over the partitions of this node
	Lookback   time.Duration
	// Most bounds the values that the partitions send for one expression.
	Most int
	// ForRules says that rules ask, which have places of their own in the partitions.
	ForRules bool

	spread, whole atomic.Uint64
}

// Counts returns how many queries had sums that the partitions have evaluated, and how many of
// these were evaluated anew without them.
func (a *Asker) Counts() (spread, again uint64) { return a.spread.Load(), a.whole.Load() }

// NewQuery returns the query of an expression; at end only if step is 0. Its Exec answers with the
// same as the Exec of an engine's query: see the comment of this package.
func (a *Asker) NewQuery(ctx context.Context, opts promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	plain, err := a.prepare(ctx, a.Storage, opts, text, start, end, step)
	if err != nil || access.From(ctx).Limited() {
		return plain, err
	}
	rest, sums := rewrite(text)
	if len(sums) == 0 {
		return plain, nil
	}
	lookback := opts.LookbackDelta()
	if lookback <= 0 {
		lookback = a.Lookback
	}
	q := &query{Query: plain, a: a, sums: sums, question: partial.Question{
		Start: start.UnixMilli(), End: end.UnixMilli(), Step: step.Milliseconds(), Lookback: lookback.Milliseconds(),
		ForRule: a.ForRules,
	}}
	if q.question.Steps() == 0 {
		return plain, nil
	}
	q.rest, err = a.prepare(ctx, q, opts, rest, start, end, step)
	if err != nil {
		return plain, nil // the expression itself is right
	}
	return q, nil
}

func (a *Asker) prepare(ctx context.Context, s storage.Queryable, opts promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	if step == 0 {
		return a.Engine.NewInstantQuery(ctx, s, opts, text, end)
	}
	return a.Engine.NewRangeQuery(ctx, s, opts, text, start, end, step)
}

// A query is an expression with sums that the partitions evaluate. It is the storage of the rest of
// the expression.
type query struct {
	promql.Query // without the partitions' help

	a        *Asker
	rest     promql.Query
	sums     []sum
	question partial.Question

	declined atomic.Bool // a partition does not evaluate a sum
	again    bool        // the result comes from Query
}

// Exec implements promql.Query.
func (q *query) Exec(ctx context.Context) *promql.Result {
	q.a.spread.Add(1)
	out := q.rest.Exec(ctx)
	if !q.declined.Load() || ctx.Err() != nil {
		return out
	}
	q.a.whole.Add(1)
	q.again = true
	return q.Query.Exec(ctx)
}

// Stats implements promql.Query.
func (q *query) Stats() *stats.Statistics {
	if q.again {
		return q.Query.Stats()
	}
	return q.rest.Stats()
}

// Cancel implements promql.Query.
func (q *query) Cancel() {
	q.rest.Cancel()
	q.Query.Cancel()
}

// Close implements promql.Query.
func (q *query) Close() {
	q.rest.Close()
	q.Query.Close()
}

// Querier implements storage.Queryable.
func (q *query) Querier(mint, maxt int64) (storage.Querier, error) {
	x, err := q.a.Storage.Querier(mint, maxt)
	return &querier{x, q}, err
}

// A querier is the storage's, which also has the sums.
type querier struct {
	storage.Querier
	q *query
}

// Select implements storage.Querier.
func (x *querier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	for _, m := range ms {
		for i := range x.q.sums {
			if m.Value == fmt.Sprint(placeholder, i) {
				return x.q.add(ctx, &x.q.sums[i])
			}
		}
	}
	return x.Querier.Select(ctx, sorted, hints, ms...)
}

var errDeclined = errors.New("a partition does not evaluate this")

// add asks all partitions for their part of a sum.
func (q *query) add(ctx context.Context, s *sum) storage.SeriesSet {
	question := q.question
	question.Expressions = s.texts
	answers, err := q.a.ask(ctx, question)
	switch {
	case errors.Is(err, core.ErrUnavailable), ctx.Err() != nil:
		return storage.ErrSeriesSet(err)
	case err != nil:
		q.declined.Store(true)
		return storage.ErrSeriesSet(err)
	}
	all, ok := merge(s, &question, answers)
	if !ok {
		q.declined.Store(true)
		return storage.ErrSeriesSet(errDeclined)
	}
	out := &answered{series: all}
	for _, a := range answers {
		for _, text := range a.Warnings {
			out.notes.Add(note{text, annotations.PromQLWarning})
		}
		for _, text := range a.Infos {
			out.notes.Add(note{text, annotations.PromQLInfo})
		}
	}
	return out.read()
}

// A note is a warning of a partition, with its position in the expression.
type note struct {
	text string
	kind error // annotations.PromQLWarning or annotations.PromQLInfo
}

func (n note) Error() string        { return n.text }
func (n note) Is(target error) bool { return errors.Is(n.kind, target) }

// ask asks all partitions, some at a time. The error comes from a partition that cannot be reached,
// or from another.
func (a *Asker) ask(ctx context.Context, q partial.Question) ([]*partial.Answer, error) {
	a.Local.mu.Lock()
	q.Rules = a.Local.hash
	a.Local.mu.Unlock()
	n := a.Partitions.Partitions()
	answers, errs := make([]*partial.Answer, n), make([]error, n)
	var left atomic.Int64 // values that may still come
	left.Store(int64(a.Most))
	g, own := errgroup.WithContext(ctx) // after an error the others work in vain
	g.SetLimit(atOnce)
	for p := range n {
		g.Go(func() error {
			errs[p] = a.Partitions.Read(own, p, func(e core.Engine) (err error) {
				answers[p], err = a.askOne(own, p, e, q, int(left.Load()))
				return err
			})
			if errs[p] == nil && left.Add(-int64(sizeOf(answers[p]))) < 0 {
				errs[p] = core.ErrTooLarge
			}
			return errs[p]
		})
	}
	_ = g.Wait() // the worst of errs counts
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var first error
	for _, err := range errs {
		switch {
		case err == nil, errors.Is(err, context.Canceled):
		case errors.Is(err, core.ErrUnavailable):
			return nil, err
		case first == nil:
			first = err
		}
	}
	return answers, first
}

func (a *Asker) askOne(ctx context.Context, p int, e core.Engine, q partial.Question, most int) (*partial.Answer, error) {
	if r, ok := e.(remote); ok {
		return r.Evaluate(ctx, q, most)
	}
	return a.Local.Evaluate(ctx, p, e, q)
}

func sizeOf(a *partial.Answer) (n int) {
	for i := range a.Series {
		n += len(a.Series[i].Values)
	}
	return n
}

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
