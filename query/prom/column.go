package prom

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// A column is the rows of one data source. Times are in milliseconds.
//
// Its samples lie on a grid: parts places a row. The first place is the end of the row. The
// places between two rows have samples only if the rows are wider than what the query looks at:
// then a place repeats the row before it, or lies on the line between two values of a counter.
type column struct {
	values  []float64 // row by row; of a counter, at the start of each row and the end of the last
	known   []uint64  // of a counter, a bit for each row that is known; nil: values show it
	origin  int64     // the time of values[0]
	step    int64     // of a row
	tail    int64     // the time of the last value
	parts   int64     // places a row
	silent  int64     // the series is silent from this time on
	held    bool      // the last value is repeated until the series is silent
	mint    int64     // the first time of a sample
	maxt    int64     // the last one
	counter bool
}

var stale = math.Float64frombits(value.StaleNaN)

// at returns the sample at a place, if there is one.
func (c *column) at(p int64) (v float64, ok bool) {
	i, part, n := p, int64(0), int64(len(c.values))
	if c.parts > 1 {
		i, part = p/c.parts, p%c.parts
	}
	if i >= n { // behind the last row
		i, part = n-1, p-(n-1)*c.parts
	}
	v = c.values[i]
	if !c.counter {
		switch {
		case v == v:
			return v, true
		case part == 0 && i > 0 && c.values[i-1] == c.values[i-1]:
			return stale, true
		}
		return 0, false
	}
	after, before := c.rowKnown(i), c.rowKnown(i-1)
	switch {
	case part > 0 && i == n-1: // as if the last row went on
		grows := (v - c.values[i-1]) * float64(c.step) / float64(c.tail-c.knee())
		return v + grows*float64(part)/float64(c.parts), before
	case part > 0:
		return v + (c.values[i+1]-v)*float64(part)/float64(c.parts), after
	case before || after:
		return v, true
	case i > 1 && c.rowKnown(i-2):
		return stale, true
	}
	return 0, false
}

// rowKnown reports whether a row of a counter is known: row i lies between values[i] and
// values[i+1].
func (c *column) rowKnown(i int64) bool {
	return i >= 0 && i < int64(len(c.values))-1 && c.known[i/64]>>(i%64)&1 != 0
}

// lastKnown reports whether the last row is known.
func (c *column) lastKnown() bool {
	if c.counter {
		return c.rowKnown(int64(len(c.values)) - 2)
	}
	v := c.values[len(c.values)-1]
	return v == v
}

// knee returns the time of the value before the last one.
func (c *column) knee() int64 { return c.origin + int64(len(c.values)-2)*c.step }

// time returns the time of a place.
func (c *column) time(p int64) int64 {
	i, part, last := p/c.parts, p%c.parts, int64(len(c.values)-1)
	switch {
	case i < last-1:
		return c.origin + i*c.step + part*c.step/c.parts
	case i < last:
		return c.knee() + part*(c.tail-c.knee())/c.parts
	}
	return c.tail + (i-last)*c.step + part*c.step/c.parts
}

// place returns the first place at or behind the time t.
func (c *column) place(t int64) int64 {
	from, i, length := c.origin, int64(0), c.step
	switch last := int64(len(c.values) - 1); {
	case last < 0, t <= c.time(0):
		return 0
	case t > c.tail:
		from, i = c.tail, last
	case t > c.knee():
		from, i, length = c.knee(), last-1, c.tail-c.knee()
	}
	d := t - from
	p := (i+d/length)*c.parts + d%length*c.parts/length
	for c.time(p) < t {
		p++
	}
	return p
}

// end returns the place behind the last one.
func (c *column) end() int64 { return int64(len(c.values)-1)*c.parts + 1 }

// Milliseconds are a time since 1970. The name keeps vet from taking Seek for io.Seeker's.
type milliseconds = int64

// An iterator steps through the samples of a column.
type iterator struct {
	c    *column
	p    int64 // the next place
	t    int64
	v    float64
	now  chunkenc.ValueType // of the sample at t
	done bool               // no samples follow
}

func (it *iterator) reset(c *column) {
	*it = iterator{c: c, p: c.place(c.mint), t: math.MinInt64, done: len(c.values) == 0}
}

// Next implements chunkenc.Iterator.
func (it *iterator) Next() chunkenc.ValueType {
	c := it.c
	if it.done {
		return it.finish()
	}
	end := c.end()
	for ; it.p < end || c.held; it.p++ {
		t := c.time(it.p)
		if it.p >= end && (t >= c.silent || !c.lastKnown()) {
			break
		}
		if t > c.maxt {
			return it.finish()
		}
		if v, ok := c.at(it.p); ok {
			it.p++
			return it.show(t, v)
		}
	}
	it.done = true
	if c.silent <= c.maxt && c.silent >= c.mint && c.lastKnown() {
		return it.show(c.silent, stale)
	}
	return it.finish()
}

func (it *iterator) show(t int64, v float64) chunkenc.ValueType {
	it.t, it.v, it.now = t, v, chunkenc.ValFloat
	return it.now
}

func (it *iterator) finish() chunkenc.ValueType {
	it.done, it.now = true, chunkenc.ValNone
	return it.now
}

// Seek implements chunkenc.Iterator.
func (it *iterator) Seek(t milliseconds) chunkenc.ValueType {
	if it.now == chunkenc.ValFloat && it.t >= t {
		return it.now
	}
	if !it.done {
		it.p = max(it.p, it.c.place(t))
	}
	for it.Next() == chunkenc.ValFloat && it.t < t {
	}
	return it.now
}

// At implements chunkenc.Iterator.
func (it *iterator) At() (int64, float64) { return it.t, it.v }

// AtT implements chunkenc.Iterator.
func (it *iterator) AtT() int64 { return it.t }

// AtST implements chunkenc.Iterator. No sample has a start time.
func (it *iterator) AtST() int64 { return 0 }

// AtHistogram implements chunkenc.Iterator. No sample is a histogram.
func (it *iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	return it.t, nil
}

// AtFloatHistogram implements chunkenc.Iterator. No sample is a histogram.
func (it *iterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return it.t, nil
}

// Err implements chunkenc.Iterator. The samples were read before.
func (it *iterator) Err() error { return nil }
