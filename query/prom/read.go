package prom

import (
	"cmp"
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
	"github.com/rondo-db/rondo/query"
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
	data := wantsData(hints)
	if hints != nil && hints.Limit > 0 && len(all) > hints.Limit && (data || q.always()) {
		all = all[:hints.Limit]
	}
	out := make([]series, len(all))
	if data {
		err = q.reading(sel, hints).read(ctx, all, out)
	} else if !q.always() {
		err = q.within(ctx, all, out)
	}
	if err != nil {
		return storage.ErrSeriesSet(u.Hide(err))
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

const endOfTime = 1 << 50 // in milliseconds: no sample lies behind the year 20,237

// always reports whether q is of all time.
func (q *querier) always() bool { return q.mint <= 0 && q.maxt >= endOfTime }

// within marks the metrics that have no sample in the time of q as gone.
func (q *querier) within(ctx context.Context, all []found, out []series) error {
	opens, err := query.Opens(ctx, q.s.store, refsOf(all))
	if err != nil {
		return err
	}
	for i, k := 0, 0; i < len(all); k++ {
		o := &opens[k]
		if o.Err != nil {
			return o.Err
		}
		gone := !o.There || o.Last*1000 < q.mint || o.First*1000 >= q.maxt
		for next := behind(all, i); i < next; i++ {
			out[i].gone = gone
		}
	}
	return nil
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
			r.fill = lookback.Milliseconds() / 5
		}
	}
	r.start, r.end = max(r.start, -endOfTime), min(r.end, endOfTime) // they are rounded
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

// A part is rows of one archive.
type part struct {
	archive  int
	width    int64 // of a row, in seconds
	from, to int64 // the rows of (from, to], in seconds
}

func (p *part) rows() int64 { return (p.to - p.from) / p.width }

// A line is a series that is read.
type line struct {
	metrics []found
	out     []series // by metric
	open    *query.Open
	cf      rra.CF
	part    part
	join    query.Join
	want    []int // data sources of the metrics
}

// entry returns the entry of the series, which its metrics share.
func (l *line) entry() *entry { return l.metrics[0].entry }

// Take takes the values of the metrics from rows of the series.
func (l *line) Take(rows *core.Rows) {
	for j := range l.metrics {
		c := &l.out[j].column
		at := int((rows.Start + rows.Step - c.origin/1000) / rows.Step)
		for i := l.metrics[j].metric.source; i < len(rows.Values); i += len(rows.DS) {
			c.values[at] = rows.Values[i]
			at++
		}
	}
}

// plan says which rows to read of a series. It reports false if there are none.
func (r *reading) plan(e *entry, l *line) bool {
	since := max(query.Floor(r.start, 1000)/1000, l.open.First)
	archive, cf := choose(e.def, r.cf, r.forced, l.open.Last, since, r.resolution)
	l.cf = cf
	return archive >= 0 && r.planPart(e, l, r.fine(e, l, archive, since))
}

// fine returns the archive that answers if something is known since a time: the given one, or a
// finer one that reaches as far back, if the given one has so few rows that the result would be
// another.
func (r *reading) fine(e *entry, l *line, archive int, since int64) int {
	enough, known := int64(1), min(query.Ceil(r.end, 1000)/1000, l.open.Last)-since
	if r.span > 0 {
		enough = rowsInRange
	}
	for known > 0 && known < enough*e.def.Step*e.def.Archives[archive].PDPs {
		next := finer(e.def, l.cf, archive)
		if next < 0 {
			break
		}
		if oldest, _ := e.def.Window(next, l.open.Last); oldest > since {
			break
		}
		archive = next
	}
	return archive
}

func (r *reading) planPart(e *entry, l *line, archive int) bool {
	start, last := query.Floor(r.start, 1000)/1000, l.open.Last
	w := e.def.Step * e.def.Archives[archive].PDPs
	p := part{archive: archive, width: w, from: query.Ceil(start, w) - 2*w, to: query.Ceil(query.Ceil(r.end, 1000)/1000, w)}
	if r.parts(w, false) > 1 {
		p.from -= query.Ceil(heartbeatOf(e.def), w)
	}
	oldest, _ := e.def.Window(archive, last)
	p.from, p.to = max(p.from, oldest), min(p.to, query.Ceil(last, w))
	l.part = p
	return p.from < p.to
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
	refs := refsOf(all)
	opens, err := query.Opens(ctx, r.q.s.store, refs)
	if err != nil {
		return err
	}
	lines, wants := make([]line, len(refs)), make([]int, 0, len(all))
	todo, joins := make([]*line, 0, len(refs)), make([]*query.Join, 0, len(refs))
	for i, k := 0, 0; i < len(all); i, k = behind(all, i), k+1 {
		l := &lines[k]
		l.metrics, l.out, l.open = all[i:behind(all, i)], out[i:behind(all, i)], &opens[k]
		if l.open.Err != nil {
			return l.open.Err
		}
		ok := l.open.There && r.plan(l.entry(), l)
		l.want = wants[len(wants):]
		for j := range l.metrics {
			l.out[j].gone = !ok
			if s := l.metrics[j].metric.source; !slices.Contains(l.want, s) && s < len(l.entry().def.Sources) {
				l.want = append(l.want, s)
			}
		}
		if wants = wants[:len(wants)+len(l.want)]; ok {
			todo, joins = append(todo, l), append(joins, &l.join)
		}
	}
	admit := func(values int64) error { return cmp.Or(ctx.Err(), r.q.admit(values)) }
	for young := todo; len(young) > 0; {
		if young, err = r.readBases(ctx, young, admit); err != nil {
			return err
		}
	}
	if err := query.Fill(ctx, r.q.s.store, joins, admit); err != nil {
		return err
	}
	for _, l := range todo {
		switch {
		case errors.Is(l.join.Err, core.ErrNotFound):
			for j := range l.out {
				l.out[j].gone = true
			}
		case l.join.Err != nil:
			return l.join.Err
		default:
			r.finish(l)
		}
	}
	return nil
}

// readBases reads the rows of series. It returns the series that began before the first row known
// and have finer rows, to be read anew.
func (r *reading) readBases(ctx context.Context, todo []*line, admit func(int64) error) (young []*line, err error) {
	values, rows := int64(0), int64(0)
	for _, l := range todo {
		rows += l.part.rows() * int64(len(l.metrics))
		values += (l.part.rows() + 1) * int64(len(l.metrics))
	}
	if err := r.q.admit(rows); err != nil {
		return nil, err
	}
	slab := make(slab, values)
	joins := make([]*query.Join, 0, len(todo))
	for _, l := range todo {
		for j := range l.metrics {
			r.emptyColumn(&l.out[j].column, &slab, l.metrics[j].metric, l)
		}
		p := &l.part
		l.join.Init(l.metrics[0].ref, l.entry().def, l.cf, p.archive, p.from, p.to, p.width, l.want, l.open, l)
		joins = append(joins, &l.join)
	}
	if err := query.ReadBases(ctx, r.q.s.store, joins, admit); err != nil {
		return nil, err
	}
	for _, l := range todo {
		e, before := l.entry(), l.part
		if l.join.Err != nil {
			continue
		}
		if archive := r.fine(e, l, before.archive, l.join.Since()); archive != before.archive && r.planPart(e, l, archive) {
			young = append(young, l)
		} else {
			l.part = before
		}
	}
	return young, nil
}

// admit counts rows that are to be read, and charges them.
func (q *querier) admit(rows int64) error {
	if q.rows += rows; q.rows > q.s.maxRows {
		return &LimitError{"rows", q.s.maxRows}
	}
	return q.charge()
}

// refsOf returns the series of metrics.
func refsOf(all []found) (refs []core.Ref) {
	for i := 0; i < len(all); i = behind(all, i) {
		refs = append(refs, all[i].ref)
	}
	return refs
}

// behind returns the index of the first metric of the series behind the series of metric i.
func behind(all []found, i int) int {
	j := i + 1
	for j < len(all) && all[j].ref == all[i].ref {
		j++
	}
	return j
}

// A slab is memory for the values of many columns.
type slab []float64

func (s *slab) take(n int) []float64 {
	values := (*s)[:n:n]
	*s = (*s)[n:]
	return values
}

// emptyColumn makes the column of a metric, whose values are unknown so far. The values of a
// counter are its rates, behind one that is to be the first.
func (r *reading) emptyColumn(c *column, s *slab, m *metric, l *line) {
	p, width := &l.part, l.part.width
	*c = column{
		origin: (p.from + width) * 1000, step: width * 1000, parts: r.parts(width, m.counter), counter: m.counter,
		mint: r.start, maxt: r.end, silent: (l.open.Last + l.entry().def.Sources[m.source].Heartbeat) * 1000, tail: p.to * 1000,
	}
	c.held = c.parts > 1
	first := 0
	if m.counter {
		first, c.origin = 1, p.from*1000
	}
	c.values = s.take(first + int(p.rows()))
	for i := range c.values {
		c.values[i] = math.NaN()
	}
}

// finish puts what a join has filled into the columns of its series, and makes counters of rates. A
// last row that is not over ends where what is known of it ends. Without that it is left out.
func (r *reading) finish(l *line) {
	width := l.part.width
	l.join.Each(func(row int64, at int, v float64, known, end int64) {
		for j := range l.metrics {
			m, c := l.metrics[j].metric, &l.out[j].column
			if m.source != l.want[at] {
				continue
			}
			i := int(row)
			if m.counter {
				i, v = i+1, v*float64(known)/float64(width) // as if the row were known
			}
			c.values[i] = v
			if i == len(c.values)-1 {
				c.tail = min(c.tail, end*1000)
			}
		}
	})
	for j := range l.out {
		c := &l.out[j].column
		if n := len(c.values); n > 0 && c.tail > l.open.Last*1000 && c.values[n-1] != c.values[n-1] {
			c.values, c.tail = c.values[:n-1], c.tail-c.step
		}
		if c.counter {
			c.integrate(width)
		}
	}
}

// integrate makes a virtual counter of the rates in c. A counter never falls: where a rate is
// negative, it stays.
func (c *column) integrate(width int64) {
	if len(c.values) < 2 {
		c.values = nil
		return
	}
	count := len(c.values) - 1
	c.known = make([]uint64, (count+63)/64)
	sum := 0.0
	c.values[0] = 0
	for i := range count {
		if v := c.values[i+1]; v == v {
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
