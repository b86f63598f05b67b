package promtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// A Memory is a storage of samples in memory. Its zero value is empty. The fields are set before it
// is asked.
type Memory struct {
	Fail   error         // of everything that is asked, if not nil
	Most   int           // a selector that finds more series fails; 0: none does
	Gate   chan struct{} // Select waits until it is closed; nil: it does not wait
	Inside chan struct{} // gets a value when Select waits at Gate

	mu     sync.Mutex // guards series
	series []*stored
}

type stored struct {
	labels  labels.Labels
	samples []Sample
}

// A Sample is a value at a time in milliseconds.
type Sample struct {
	Time  int64
	Value float64
}

// Add adds samples to the series of some labels, in the order of time.
func (m *Memory) Add(ls labels.Labels, s ...Sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.series, func(o *stored) bool { return labels.Equal(o.labels, ls) })
	if i < 0 {
		i = len(m.series)
		m.series = append(m.series, &stored{labels: ls})
	}
	m.series[i].samples = append(m.series[i].samples, s...)
}

// Put adds a series that is not there yet. It is quicker than Add.
func (m *Memory) Put(ls labels.Labels, s []Sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.series = append(m.series, &stored{labels: ls, samples: s})
}

// Querier returns a querier of the samples from mint to maxt, both included.
func (m *Memory) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{m, mint, maxt}, nil
}

type querier struct {
	*Memory
	mint, maxt int64
}

func (q *querier) Close() error { return nil }

func (q *querier) find(ms []*labels.Matcher) []*stored {
	q.mu.Lock()
	defer q.mu.Unlock()
	var found []*stored
	for _, s := range q.series {
		if !slices.ContainsFunc(ms, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *stored) int { return labels.Compare(a.labels, b.labels) })
	return found
}

func (q *querier) Select(ctx context.Context, _ bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	if q.Gate != nil {
		q.Inside <- struct{}{}
		select {
		case <-q.Gate:
		case <-ctx.Done():
			return storage.ErrSeriesSet(ctx.Err())
		}
	}
	if q.Fail != nil {
		return storage.ErrSeriesSet(q.Fail)
	}
	mint, maxt := q.mint, q.maxt
	if hints != nil { // as Prometheus' own storage: no sample outside of what a selector asks for
		mint, maxt = hints.Start, hints.End
	}
	var found []storage.Series
	for _, s := range q.find(ms) {
		var in []chunks.Sample
		for _, p := range s.samples {
			if p.Time >= mint && p.Time <= maxt {
				in = append(in, point{p})
			}
		}
		if len(in) > 0 {
			found = append(found, storage.NewListSeries(s.labels, in))
		}
	}
	if q.Most > 0 && len(found) > q.Most {
		return storage.ErrSeriesSet(errors.New("too many series"))
	}
	return &seriesSet{series: found, i: -1}
}

func (q *querier) LabelValues(_ context.Context, name string, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	var values []string
	for _, s := range q.find(ms) {
		if v := s.labels.Get(name); v != "" {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil, q.Fail
}

func (q *querier) LabelNames(_ context.Context, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	var names []string
	for _, s := range q.find(ms) {
		s.labels.Range(func(l labels.Label) { names = append(names, l.Name) })
	}
	slices.Sort(names)
	return slices.Compact(names), nil, q.Fail
}

type seriesSet struct {
	series []storage.Series
	i      int
}

func (s *seriesSet) Next() bool                        { s.i++; return s.i < len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.i] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// point is a Sample as the engine reads it.
type point struct{ Sample }

func (p point) T() int64                      { return p.Time }
func (p point) ST() int64                     { return 0 }
func (p point) F() float64                    { return p.Value }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }
