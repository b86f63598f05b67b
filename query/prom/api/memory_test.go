package api_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// A memory is the storage that answers are compared with: sorted samples in memory.
type memory struct {
	mu     sync.Mutex // guards series
	series []*memorySeries
	fail   error         // of Select, if not nil
	gate   chan struct{} // Select waits until it is closed; nil: it does not wait
	inside chan struct{} // gets a value when Select waits
}

type memorySeries struct {
	labels  labels.Labels
	samples []sample
}

type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

func (m *memory) add(ls labels.Labels, s ...sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.series, func(o *memorySeries) bool { return labels.Equal(o.labels, ls) })
	if i < 0 {
		i = len(m.series)
		m.series = append(m.series, &memorySeries{labels: ls})
	}
	m.series[i].samples = append(m.series[i].samples, s...)
}

func (m *memory) Querier(mint, maxt int64) (storage.Querier, error) {
	return &memoryQuerier{m, mint, maxt}, nil
}

type memoryQuerier struct {
	*memory
	mint, maxt int64
}

func (q *memoryQuerier) Close() error { return nil }

func (q *memoryQuerier) find(ms []*labels.Matcher) []*memorySeries {
	q.mu.Lock()
	defer q.mu.Unlock()
	var found []*memorySeries
	for _, s := range q.series {
		if !slices.ContainsFunc(ms, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *memorySeries) int { return labels.Compare(a.labels, b.labels) })
	return found
}

func (q *memoryQuerier) Select(ctx context.Context, _ bool, _ *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	if q.gate != nil {
		q.inside <- struct{}{}
		select {
		case <-q.gate:
		case <-ctx.Done():
			return storage.ErrSeriesSet(ctx.Err())
		}
	}
	if q.fail != nil {
		return storage.ErrSeriesSet(q.fail)
	}
	var found []storage.Series
	for _, s := range q.find(ms) {
		var in []chunks.Sample
		for _, p := range s.samples {
			if p.t >= q.mint && p.t <= q.maxt {
				in = append(in, p)
			}
		}
		if len(in) > 0 {
			found = append(found, storage.NewListSeries(s.labels, in))
		}
	}
	return &memorySet{series: found, i: -1}
}

func (q *memoryQuerier) LabelValues(_ context.Context, name string, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	var values []string
	for _, s := range q.find(ms) {
		if v := s.labels.Get(name); v != "" {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil, q.fail
}

func (q *memoryQuerier) LabelNames(_ context.Context, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	var names []string
	for _, s := range q.find(ms) {
		s.labels.Range(func(l labels.Label) { names = append(names, l.Name) })
	}
	slices.Sort(names)
	return slices.Compact(names), nil, q.fail
}

type memorySet struct {
	series []storage.Series
	i      int
}

func (s *memorySet) Next() bool                        { s.i++; return s.i < len(s.series) }
func (s *memorySet) At() storage.Series                { return s.series[s.i] }
func (s *memorySet) Err() error                        { return nil }
func (s *memorySet) Warnings() annotations.Annotations { return nil }

var errDisk = errors.New("the disk is gone")

// small returns a storage with some series over ten minutes.
func small(t *testing.T) *memory {
	t.Helper()
	m := &memory{}
	for i, host := range []string{"a", "b", "c"} {
		for _, name := range []string{"up", "load"} {
			ls := labels.FromStrings("__name__", name, "host", host, "odd.name", strings.Repeat("x", i+1))
			for at := range int64(61) {
				m.add(ls, sample{(base + at*10) * 1000, float64(i*100) + float64(at)})
			}
		}
	}
	return m
}

// base is the time of the first sample of small.
const base = 1_700_000_000
