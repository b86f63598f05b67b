package spread

import (
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// A series is a result as the engine reads it: a sample at each step, which is stale where there is
// no value.
type series struct {
	labels      labels.Labels
	start, step int64
	values      []float64
}

// Labels implements storage.Series.
func (s *series) Labels() labels.Labels { return s.labels }

// Iterator implements storage.Series.
func (s *series) Iterator(chunkenc.Iterator) chunkenc.Iterator { return &iterator{s: s, at: -1} }

// An iterator yields the samples of a series.
type iterator struct {
	s  *series
	at int
}

func (it *iterator) time() int64 { return it.s.start + int64(it.at)*it.s.step }

// Next implements chunkenc.Iterator.
func (it *iterator) Next() chunkenc.ValueType {
	if it.at++; it.at >= len(it.s.values) {
		it.at = len(it.s.values)
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

// Milliseconds are a time since 1970. The name keeps vet from taking Seek for io.Seeker's.
type milliseconds = int64

// Seek implements chunkenc.Iterator.
func (it *iterator) Seek(t milliseconds) chunkenc.ValueType {
	if it.at < 0 {
		it.at = 0
	}
	if it.at < len(it.s.values) && it.s.step > 0 && t > it.time() {
		it.at += int(min((t-it.time()+it.s.step-1)/it.s.step, int64(len(it.s.values)-it.at)))
	}
	for ; it.at < len(it.s.values); it.at++ {
		if it.time() >= t {
			return chunkenc.ValFloat
		}
	}
	return chunkenc.ValNone
}

// At implements chunkenc.Iterator.
func (it *iterator) At() (int64, float64) { return it.time(), it.s.values[it.at] }

// AtT implements chunkenc.Iterator.
func (it *iterator) AtT() int64 { return it.time() }

// AtST implements chunkenc.Iterator: it is not known.
func (it *iterator) AtST() int64 { return 0 }

// AtHistogram implements chunkenc.Iterator: there are none.
func (it *iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	return math.MinInt64, nil
}

// AtFloatHistogram implements chunkenc.Iterator: there are none.
func (it *iterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return math.MinInt64, nil
}

// Err implements chunkenc.Iterator.
func (it *iterator) Err() error { return nil }

// A set is the series of a sum.
type set struct {
	all   []series
	at    int // of the next one
	notes annotations.Annotations
}

// Next implements storage.SeriesSet.
func (s *set) Next() bool {
	s.at++
	return s.at <= len(s.all)
}

// At implements storage.SeriesSet.
func (s *set) At() storage.Series { return &s.all[s.at-1] }

// Err implements storage.SeriesSet.
func (s *set) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (s *set) Warnings() annotations.Annotations { return s.notes }

// A note is a warning of a partition, with its position in the expression.
type note struct {
	text string
	kind error // annotations.PromQLWarning or annotations.PromQLInfo
}

func (n note) Error() string        { return n.text }
func (n note) Is(target error) bool { return errors.Is(n.kind, target) }
