package prom

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/rra"
)

// Select implements storage.Querier. It reads all samples before it returns.
func (q *querier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	sel, err := newSelector(ms)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	u := access.From(ctx)
	all, err := q.find(ctx, sel)
	if err != nil {
		return storage.ErrSeriesSet(u.Hide(err))
	}
	others := apart(all)
	if hints != nil && hints.Limit > 0 && len(all) > hints.Limit {
		all = all[:hints.Limit]
	}
	out := make([]series, len(all))
	if wantsData(hints) {
		r := q.reading(sel, hints)
		if err := r.read(ctx, all, out); err != nil {
			return storage.ErrSeriesSet(u.Hide(err))
		}
	}
	set := &seriesSet{all: out[:0]}
	for i := range out {
		out[i].labels = labelsAt(all, others, i)
		if !out[i].gone {
			set.all = append(set.all, out[i])
		}
	}
	if sorted {
		slices.SortFunc(set.all, func(a, b series) int { return labels.Compare(a.labels, b.labels) })
	}
	return set
}

// A series is a metric with its samples.
type series struct {
	labels labels.Labels
	column column
	gone   bool // it has no such archive, or was dropped meanwhile
}

// Labels implements storage.Series.
func (s *series) Labels() labels.Labels { return s.labels }

// Iterator implements storage.Series.
func (s *series) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	mine, ok := it.(*iterator)
	if !ok {
		mine = new(iterator)
	}
	mine.reset(&s.column)
	return mine
}

// A seriesSet is the answer to a selector.
type seriesSet struct {
	all []series
	at  int // of the next one
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	s.at++
	return s.at <= len(s.all)
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return &s.all[s.at-1] }

// Err implements storage.SeriesSet.
func (s *seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// A reading is what a selector reads. Times are in milliseconds.
type reading struct {
	q          *querier
	cf         rra.CF
	forced     bool
	resolution int64 // how wide rows may be, in seconds
	start, end int64
	span       int64 // of a range as [5m]; 0: an instant
	fill       int64 // the longest time between two samples of an instant; 0: any
}

func (q *querier) reading(sel *selector, hints *storage.SelectHints) *reading {
	r := &reading{q: q, cf: cfOf(sel, hints), forced: sel.forced, resolution: resolutionOf(hints), start: q.mint, end: q.maxt}
	if hints != nil {
		r.start, r.end, r.span = hints.Start, hints.End, hints.Range
		if r.span == 0 && hints.Func != "timestamp" {
			r.fill = q.s.options.Lookback.Milliseconds() / 5
		}
	}
	return r
}

// parts returns how many places a row of the given width gets, in seconds.
func (r *reading) parts(width int64, counter bool) int64 {
	width *= 1000
	switch {
	case r.span > 0 && counter && 4*width > r.span:
		return (4*width + r.span - 1) / r.span
	case r.span > 0 && width > r.span:
		return (width + r.span - 1) / r.span
	case r.fill > 0 && width > 2*r.fill:
		return (width + r.fill - 1) / r.fill
	}
	return 1
}

// A part is rows of one archive that are read from several series.
type part struct {
	archive  int
	width    int64 // of a row, in seconds
	from, to int64 // the rows of (from, to], in seconds
}

// plan returns which rows to read of a series that was updated last at the second last.
func (r *reading) plan(e *entry, last int64) (part, bool) {
	start := floorDiv(r.start, 1000)
	archive := choose(e.def, r.cf, r.forced, last, start, r.resolution)
	if archive < 0 {
		return part{}, false
	}
	w := e.def.Step * e.def.Archives[archive].PDPs
	p := part{archive: archive, width: w, from: ceilTo(start, w) - 2*w, to: ceilTo(ceilTo(r.end, 1000)/1000, w)}
	if r.parts(w, false) > 1 {
		p.from -= ceilTo(heartbeatOf(e.def), w)
	}
	oldest, newest := e.def.Window(archive, last)
	p.from, p.to = max(p.from, oldest), min(p.to, newest)
	return p, p.from < p.to
}

func heartbeatOf(d *rra.Definition) int64 {
	longest := int64(0)
	for i := range d.Sources {
		longest = max(longest, d.Sources[i].Heartbeat)
	}
	return longest
}

// read reads the samples of all into out.
func (r *reading) read(ctx context.Context, all []found, out []series) error {
	parts := make(map[part][]int) // the first metric of each series
	lasts := make([]int64, len(all))
	var refs []core.Ref
	for i := 0; i < len(all); i = behind(all, i) {
		refs = append(refs, all[i].ref)
	}
	times, err := r.q.s.store.Lasts(ctx, refs)
	if err != nil {
		return err
	}
	for i, k := 0, 0; i < len(all); i, k = behind(all, i), k+1 {
		p, ok, at := part{}, times[k].There, times[k].Time
		if ok {
			p, ok = r.plan(all[i].entry, at.Unix())
		}
		for j := i; j < behind(all, i); j++ {
			out[j].gone = !ok
			lasts[j] = at.Unix()
		}
		if ok {
			parts[p] = append(parts[p], i)
			r.q.rows += (p.to - p.from) / p.width * int64(behind(all, i)-i)
		}
	}
	if r.q.rows > r.q.s.options.MaxRows {
		return &LimitError{"rows", r.q.s.options.MaxRows}
	}
	if err := r.q.charge(); err != nil {
		return err
	}
	for p, firsts := range parts {
		if err := r.readPart(ctx, p, firsts, all, lasts, out); err != nil {
			return err
		}
	}
	return nil
}

// behind returns the index of the first metric of the series behind the series of metric i.
func behind(all []found, i int) int {
	j := i + 1
	for j < len(all) && all[j].ref == all[i].ref {
		j++
	}
	return j
}

// readPart reads the same rows of several series.
func (r *reading) readPart(ctx context.Context, p part, firsts []int, all []found, lasts []int64, out []series) error {
	refs := make([]core.Ref, len(firsts))
	for k, i := range firsts {
		refs[k] = all[i].ref
	}
	var failed error
	slab := newSlab(p, firsts, all)
	err := r.q.s.store.FetchMany(ctx, refs, p.archive, p.from, p.to, func(k int, rows *core.Rows, err error) {
		i := firsts[k]
		for j := i; j < behind(all, i); j++ {
			switch {
			case errors.Is(err, core.ErrNotFound):
				out[j].gone = true
			case err != nil:
				failed = err
			default:
				r.fillColumn(&out[j].column, &slab, all[j].metric, all[j].entry, rows, lasts[j])
			}
		}
	})
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	return failed
}

// A slab is memory for the values of many columns.
type slab []float64

// newSlab returns memory for the columns of a part.
func newSlab(p part, firsts []int, all []found) slab {
	n := 0
	for _, i := range firsts {
		n += (int((p.to-p.from)/p.width) + 1) * (behind(all, i) - i)
	}
	return make(slab, n)
}

// take returns n values of the slab.
func (s *slab) take(n int) []float64 {
	if n > len(*s) {
		return make([]float64, n) // the archive has changed meanwhile
	}
	values := (*s)[:n:n]
	*s = (*s)[n:]
	return values
}

// fillColumn makes the column of a metric from the rows of its series.
func (r *reading) fillColumn(c *column, s *slab, m *metric, e *entry, rows *core.Rows, last int64) {
	n, width := len(rows.DS), rows.Step
	count := int((rows.End - rows.Start) / width)
	*c = column{
		origin: (rows.Start + width) * 1000, step: width * 1000, parts: r.parts(width, m.counter), counter: m.counter,
		mint: r.start, maxt: r.end, silent: (last + e.def.Sources[m.source].Heartbeat) * 1000,
	}
	c.held = c.parts > 1
	if m.source >= n || count == 0 {
		return
	}
	if m.counter {
		c.origin = rows.Start * 1000
		c.integrate(s.take(count+1), rows.Values[m.source:], n, width)
		return
	}
	c.values = s.take(count)
	for i := range c.values {
		c.values[i] = rows.Values[i*n+m.source]
	}
}

// integrate fills c with the virtual counter of rates, which stand n apart. values has room for one
// more value than there are rates. A counter never falls: where a rate is negative, it stays.
func (c *column) integrate(values, rates []float64, n int, width int64) {
	count := len(values) - 1
	c.values, c.known = values, make([]uint64, (count+63)/64)
	sum := 0.0
	for i := range count {
		if v := rates[i*n]; v == v {
			c.known[i/64] |= 1 << (i % 64)
			sum += max(v, 0) * float64(width)
		}
		c.values[i+1] = sum
	}
	// rate() takes a counter that is small, compared with how it grows, for one that began at zero
	// within the range.
	base := 1.0
	if sum > 0 && !math.IsInf(sum, 0) {
		_, exp := math.Frexp(sum)
		base = max(base, math.Ldexp(1, exp+1))
	}
	for i := range c.values {
		c.values[i] += base
	}
}

// floorDiv returns a/b, rounded down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// ceilTo returns the first multiple of step at or behind t.
func ceilTo(t, step int64) int64 { return -floorDiv(-t, step) * step }
