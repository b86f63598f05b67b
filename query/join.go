package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Reader is what joined reads need of a store, such as a [core.Engine].
type Reader interface {
	core.Fetcher
	core.LastsReader
}

// An Open is what a series knows behind its last step, in the seconds (From, Last], where Last is
// its last update: see [core.OpenRow]. The zero Open is of no series.
type Open struct {
	From, Last int64
	Values     []float64 // by data source; nil: nothing is known
	There      bool      // the series exists
}

// Opens returns the open rows of series, in the order of refs. All that is read later of a series
// is cut at its last update, so that everything is of that moment.
func Opens(ctx context.Context, s Reader, refs []core.Ref) ([]Open, error) {
	out := make([]Open, len(refs))
	var failed error
	older := false // a node of the cluster does not know open rows
	values := make([]float64, 0, len(refs))
	err := s.FetchMany(ctx, refs, core.OpenRow, 0, 0, func(i int, r *core.Rows, err error) {
		switch {
		case errors.Is(err, core.ErrNotFound):
		case errors.Is(err, core.ErrInvalid):
			older = true
		case err != nil:
			failed = err
		default:
			at := len(values)
			values = append(values, r.Values...)
			out[i] = Open{From: r.Start, Last: r.End, Values: values[at:len(values):len(values)], There: true}
		}
	})
	if older {
		times, err := s.Lasts(ctx, refs)
		if err != nil {
			return nil, err
		}
		for i, t := range times {
			if !out[i].There {
				out[i] = Open{From: t.Time.Unix(), Last: t.Time.Unix(), There: t.There}
			}
		}
	}
	if failed == nil && !errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrInvalid) {
		failed = err
	}
	return out, failed
}

// A Join fills what one archive of a series, the base, does not know of a range from the other
// archives of the same consolidation function.
//
// A hole is a part of the range that the base does not know, of one data source. Levels are looked
// at in turn, each only for what is still a hole: finer archives, the coarsest first; the open row;
// coarser archives, the finest first. A row counts for the part of its time that is a hole. MIN and
// MAX take rows of AVERAGE for points that would be unknown otherwise.
type Join struct {
	ref    core.Ref
	def    *rra.Definition
	cf     rra.CF
	base   int
	start  int64 // where the first point begins
	width  int64 // of a point, in seconds
	want   []int // data sources
	open   *Open
	levels []int    // archives to look at, and core.OpenRow
	holes  [][]span // by place in want, in order
	spare  []span
	points map[slot]*point
	filled bool // MIN or MAX has come to the rows of AVERAGE
}

// A span is the seconds (from, to].
type span struct{ from, to int64 }

// A slot is a point of the data source at a place in want.
type slot struct {
	point int64
	at    int
}

// NewJoin returns a Join of points from start on that are width seconds long. want lists data
// sources. Hole is called for what the base does not know, and then [Fill].
func NewJoin(ref core.Ref, d *rra.Definition, cf rra.CF, base int, start, width int64, want []int, o *Open) *Join {
	x := &Join{ref: ref, def: d, cf: cf, base: base, start: start, width: width, want: want, open: o}
	x.holes = make([][]span, len(want))
	x.levels = x.others(cf, nil)
	return x
}

// others returns the archives of cf other than the base, and the open row between the finer and the
// coarser ones. It leaves out those that know no more than the base or than another one.
func (x *Join) others(cf rra.CF, not func(*rra.Archive) bool) []int {
	if cf > rra.Last {
		return nil // rows of predictions are no readings
	}
	all := x.def.Archives
	levels := []int{core.OpenRow}
	knows := func(i, other int) bool {
		a, b := &all[i], &all[other]
		same := a.PDPs == b.PDPs && (a.PDPs == 1 || a.CF == b.CF && a.XFF == b.XFF)
		return same && (a.Rows > b.Rows || a.Rows == b.Rows && (i == x.base || other != x.base && i < other))
	}
	for i := range all {
		left := i == x.base || !all[i].Serves(cf) || not != nil && not(&all[i])
		for k := range all {
			left = left || k != i && all[k].Serves(cf) && knows(k, i)
		}
		if !left {
			levels = append(levels, i)
		}
	}
	base := all[x.base].PDPs
	slices.SortStableFunc(levels, func(i, k int) int {
		place := func(i int) (coarse int, length int64) {
			switch {
			case i == core.OpenRow:
				return 1, 0
			case all[i].PDPs > base:
				return 2, all[i].PDPs
			}
			return 0, -all[i].PDPs
		}
		a, length := place(i)
		b, other := place(k)
		return cmp.Or(cmp.Compare(a, b), cmp.Compare(length, other))
	})
	return levels
}

// Hole notes that the base does not know the seconds (from, to] of the data source at a place in
// want. It is called in the order of time.
func (x *Join) Hole(at int, from, to int64) {
	if to = min(to, x.open.Last); from >= to || len(x.levels) == 0 {
		return
	}
	h := x.holes[at]
	if n := len(h); n > 0 && h[n-1].to == from {
		h[n-1].to = to
		return
	}
	x.holes[at] = append(h, span{from, to})
}

// Rows notes the unknown values of rows of the base, which begin at start and have a value of each
// data source of the series.
func (x *Join) Rows(start int64, values []float64) {
	n, step := len(x.def.Sources), x.def.Step*x.def.Archives[x.base].PDPs
	for at, ds := range x.want {
		end := start
		for i := ds; i < len(values); i += n {
			if end += step; values[i] != values[i] {
				x.Hole(at, end-step, end)
			}
		}
	}
}

// whole reports whether there is no hole.
func (x *Join) whole() bool {
	return !slices.ContainsFunc(x.holes, func(h []span) bool { return len(h) > 0 })
}

// A read is rows of an archive.
type read struct {
	archive  int
	from, to int64
}

const (
	readRows = pieceRows // of one read, at most
	readNear = 64        // rows between two holes that are read with them
)

// next calls fn with the reads of the next level that has rows for holes. It reports whether there
// is such a level.
func (x *Join) next(fn func(read)) bool {
	for !x.whole() {
		if len(x.levels) == 0 && !x.below() {
			return false
		}
		i := x.levels[0]
		x.levels = x.levels[1:]
		if i == core.OpenRow {
			if x.open.Values != nil {
				x.cover(x.open.From, x.open.Last-x.open.From, x.open.Values)
			}
			continue
		}
		if x.reads(i, fn) {
			return true
		}
	}
	return false
}

// below turns to the rows of AVERAGE for unknown points of MIN or MAX. It reports false if it has
// done so already, or there are no such points.
func (x *Join) below() bool {
	if x.filled || x.cf != rra.Min && x.cf != rra.Max {
		return false
	}
	x.filled = true
	x.levels = x.others(rra.Average, func(a *rra.Archive) bool { return a.Serves(x.cf) })
	for at := range x.holes {
		var bare []span
		for _, h := range x.holes[at] {
			for h.from < h.to {
				p, end := x.pointOf(h.from)
				if x.points[slot{p, at}] == nil {
					bare = append(bare, span{h.from, min(h.to, end)})
				}
				h.from = end
			}
		}
		x.holes[at] = bare
	}
	return !x.whole()
}

// pointOf returns the point in which the second behind t lies, and its end.
func (x *Join) pointOf(t int64) (p, end int64) {
	p = (t - x.start) / x.width
	return p, x.start + (p+1)*x.width
}

// reads calls fn with what to read of an archive. It reports whether that is anything.
func (x *Join) reads(archive int, fn func(read)) bool {
	oldest, newest := x.def.Window(archive, x.open.Last)
	step := x.def.Step * x.def.Archives[archive].PDPs
	all := x.holes[0]
	if len(x.holes) > 1 {
		all = slices.Concat(x.holes...)
		slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
	r := read{archive: archive}
	flush := func() {
		for from := r.from; from < r.to; from += readRows * step {
			fn(read{archive, from, min(r.to, from+readRows*step)})
		}
	}
	any := false
	for _, h := range all {
		from, to := max(floor(h.from, step), oldest), min(-floor(-h.to, step), newest)
		switch {
		case from >= to:
		case any && from <= r.to+readNear*step:
			r.to = max(r.to, to)
		default:
			flush()
			r.from, r.to, any = from, to, true
		}
	}
	flush()
	return any
}

// cover fills holes with rows that begin at start.
func (x *Join) cover(start, step int64, values []float64) {
	n := len(x.def.Sources)
	end := start + int64(len(values)/n)*step
	for at, ds := range x.want {
		left := x.spare[:0]
		for _, h := range x.holes[at] {
			from := max(start, h.from)
			for i := (from - start) / step; h.from < h.to && from < min(h.to, end); i++ {
				to := min(h.to, start+(i+1)*step)
				if v := values[int(i)*n+ds]; v == v {
					x.add(at, from, to, v)
					if h.from < from {
						left = append(left, span{h.from, from})
					}
					h.from = to
				}
				from = to
			}
			if h.from < h.to {
				left = append(left, h)
			}
		}
		x.holes[at], x.spare = left, x.holes[at]
	}
}

// add adds a value that counts for the seconds (from, to] to its points.
func (x *Join) add(at int, from, to int64, v float64) {
	for from < to {
		p, end := x.pointOf(from)
		end = min(end, to)
		x.point(p, at).add(x.cf, v, end-from, 1, end)
		from = end
	}
}

// point returns a point that the base does not know, or knows in part.
func (x *Join) point(p int64, at int) *point {
	s := slot{p, at}
	of := x.points[s]
	if of == nil {
		if x.points == nil {
			x.points = make(map[slot]*point)
		}
		of = new(point)
		x.points[s] = of
	}
	return of
}

// Each calls fn with each point that was filled: its number, the place of its data source in want,
// its value, how many of its seconds are known, and where the last of them ends.
func (x *Join) Each(fn func(p int64, at int, v float64, known, end int64)) {
	for s, of := range x.points {
		fn(s.point, s.at, of.value(x.cf), of.seconds+of.n*of.each, of.end)
	}
}

// A point is what is known of a point so far.
type point struct {
	sum     float64 // of n parts of each seconds; the value, if it is no mean
	n, each int64
	total   float64 // of values times seconds, of parts before
	seconds int64
	end     int64 // of the last known part
}

// add adds n parts of each seconds, up to end, by their sum or value.
func (p *point) add(cf rra.CF, sum float64, each, n, end int64) {
	if p.n > 0 && p.each != each {
		p.total, p.seconds = p.total+p.sum*float64(p.each), p.seconds+p.n*p.each
		if meanCF(cf) {
			p.sum = 0
		}
		p.n = 0
	}
	p.each = each
	switch none := p.n+p.seconds == 0; {
	case meanCF(cf):
		p.sum += sum
	case none, cf == rra.Min && sum < p.sum, cf == rra.Max && sum > p.sum, cf == rra.Last && end > p.end:
		p.sum = sum
	}
	p.n, p.end = p.n+n, max(p.end, end)
}

// value returns the value of p. Parts that are equally long give their mean as rows do.
func (p *point) value(cf rra.CF) float64 {
	switch {
	case !meanCF(cf):
		return p.sum
	case p.seconds == 0:
		return p.sum / float64(p.n)
	}
	return (p.total + p.sum*float64(p.each)) / float64(p.seconds+p.n*p.each)
}

// Fill reads what all need for their holes. It reads the same rows of several series together.
// admit is called before rows are read, with how many values there are. Its error ends Fill. A
// series that does not exist any more has no more rows.
func Fill(ctx context.Context, s core.Fetcher, all []*Join, admit func(values int64) error) error {
	for {
		reads := make(map[read][]*Join)
		going := all[:0:0]
		for _, x := range all {
			if x.next(func(r read) { reads[r] = append(reads[r], x) }) {
				going = append(going, x)
			}
		}
		if all = going; len(all) == 0 {
			return nil
		}
		// A join covers its holes with any of its reads first: they do not overlap.
		for r, of := range reads {
			if err := fill(ctx, s, r, of, admit); err != nil {
				return err
			}
		}
	}
}

// fill reads the same rows of several series.
func fill(ctx context.Context, s core.Fetcher, r read, of []*Join, admit func(values int64) error) error {
	refs := make([]core.Ref, len(of))
	values := int64(0)
	for i, x := range of {
		refs[i] = x.ref
		values += (r.to - r.from) / (x.def.Step * x.def.Archives[r.archive].PDPs) * int64(len(x.def.Sources))
	}
	if err := admit(values); err != nil {
		return err
	}
	var failed error
	err := s.FetchMany(ctx, refs, r.archive, r.from, r.to, func(i int, rows *core.Rows, err error) {
		x := of[i]
		switch {
		case errors.Is(err, core.ErrNotFound):
		case err != nil:
			failed = err
		case rows.Step != x.def.Step*x.def.Archives[r.archive].PDPs || len(rows.DS) != len(x.def.Sources):
			failed = fmt.Errorf("archive %d changed while it was read", r.archive)
		default:
			x.cover(rows.Start, rows.Step, rows.Values)
		}
	})
	if failed == nil && !errors.Is(err, core.ErrNotFound) {
		failed = err
	}
	return failed
}
