package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Join reads one archive of a series, the base, and fills what that does not know of a range from
// the other archives of the same consolidation function.
//
// A hole is a part of the range that the base does not know, of one data source. Levels are looked
// at in turn, each only for what is still a hole: finer archives, the coarsest first; the open row;
// coarser archives, the finest first. A row counts for the part of its time that is a hole. MIN and
// MAX take rows of AVERAGE for points that would be unknown otherwise.
//
// The rows behind the last one of the base are read with the base: which archive knows them follows
// from the last update. All other holes are read at once, of all levels, if they are not too many.
type Join struct {
	Err error // why rows cannot be had; ErrNotFound: the series does not exist any more

	ref        core.Ref
	def        *rra.Definition
	cf         rra.CF
	base       int
	start, end int64 // where the points begin, and where the last one is over
	from       int64 // nothing is known before
	width      int64 // of a point, in seconds
	want       []int // data sources
	open       *Open
	rows       func(*core.Rows)
	levels     []level
	holes      [][]span // by place in want, in order
	known      []int64  // by place in want: where the last known row of the base ends
	spare      []span
	points     map[slot]*point
	reading    int  // levels that are read at once
	straight   bool // of one level, whose rows fill holes as they come
	bare       bool // the holes are of points that would be unknown without the rows of AVERAGE
	begun      bool // all rows of the base are there
	dry        bool // holes are filled only to see what is left
}

// A level is an archive to look at, or core.OpenRow.
type level struct {
	archive int
	average bool        // it is looked at for points of MIN or MAX that would be unknown otherwise
	after   int64       // the rows behind it are read with the base
	rows    []core.Rows // that were read
}

// A span is the seconds (from, to].
type span struct{ from, to int64 }

// A slot is a point of the data source at a place in want.
type slot struct {
	point int64
	at    int
}

// NewJoin returns a Join of points from start to end that are width seconds long. want lists data
// sources. rows is called with the rows of the base that are known, in the order of time, and must
// not keep them. The others are holes.
func NewJoin(ref core.Ref, d *rra.Definition, cf rra.CF, base int, start, end, width int64, want []int, o *Open, rows func(*core.Rows)) *Join {
	x := &Join{ref: ref, def: d, cf: cf, base: base, start: start, end: end, width: width, want: want, open: o, rows: rows}
	x.from = max(start, o.First)
	x.holes, x.levels = make([][]span, len(want)), make([]level, 0, len(d.Archives)+1)
	x.known = slices.Repeat([]int64{x.from}, len(want))
	for _, i := range x.others(cf, func(*rra.Archive) bool { return false }) {
		x.levels = append(x.levels, level{archive: i, after: math.MaxInt64})
	}
	if cf == rra.Min || cf == rra.Max {
		for _, i := range x.others(rra.Average, func(a *rra.Archive) bool { return a.Serves(cf) }) {
			if i != core.OpenRow {
				x.levels = append(x.levels, level{archive: i, average: true, after: math.MaxInt64})
			}
		}
	}
	return x
}

// others returns the archives of cf other than the base, and the open row between the finer and the
// coarser ones. It leaves out archives for which not returns true, and archives that know no more
// than the base or than another one.
func (x *Join) others(cf rra.CF, not func(*rra.Archive) bool) []int {
	if cf > rra.Last {
		return nil // rows of predictions are no readings
	}
	all := x.def.Archives
	levels := append(make([]int, 0, len(all)+1), core.OpenRow)
	knows := func(i, other int) bool {
		a, b := &all[i], &all[other]
		same := a.PDPs == b.PDPs && (a.PDPs == 1 || a.CF == b.CF && a.XFF == b.XFF)
		return same && (a.Rows > b.Rows || a.Rows == b.Rows && (i == x.base || other != x.base && i < other))
	}
	for i := range all {
		left := i == x.base || !all[i].Serves(cf) || not(&all[i])
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

// hole notes that the base does not know the seconds (from, to] of the data source at a place in
// want. It is called in the order of time.
func (x *Join) hole(at int, from, to int64) {
	if to = min(to, x.open.Last); from < to && len(x.levels) > 0 {
		x.holes[at] = append(x.holes[at], span{from, to})
	}
}

// take takes rows of the base: what lies between known rows is a hole.
func (x *Join) take(r *core.Rows) {
	n := len(x.def.Sources)
	for at, ds := range x.want {
		known, end := x.known[at], r.Start
		for i := ds; i < len(r.Values); i += n {
			if end += r.Step; r.Values[i] == r.Values[i] {
				if known < end-r.Step {
					x.hole(at, known, end-r.Step)
				}
				known = end
			}
		}
		x.known[at] = known
	}
	x.rows(r)
}

// Since returns the second behind which the base knows something, or where its rows end.
func (x *Join) Since() int64 {
	_, newest := x.def.Window(x.base, x.open.Last)
	since := min(x.end, newest)
	for at, known := range x.known {
		switch h := x.holes[at]; {
		case known == x.from: // of no row
		case len(h) > 0 && h[0].from == x.from:
			since = min(since, h[0].to)
		default:
			since = min(since, x.from)
		}
	}
	return since
}

// whole reports whether there is no hole.
func (x *Join) whole() bool {
	return !slices.ContainsFunc(x.holes, func(h []span) bool { return len(h) > 0 })
}

// length returns the seconds of a row of an archive.
func (x *Join) length(archive int) int64 { return x.def.Step * x.def.Archives[archive].PDPs }

const (
	readRows = pieceRows // of one read, at most
	readNear = 64        // rows between two holes that are read with them
)

// read calls fn with the rows (from, to] of an archive, in pieces.
func (x *Join) read(archive int, from, to int64, fn func(core.Span)) {
	for most := readRows * x.length(archive); from < to; from += most {
		fn(core.Span{Ref: x.ref, Archive: archive, Start: from, End: min(to, from+most), Known: true})
	}
}

// begin calls base with the rows of the base to read, and fn with the rows of finer archives behind
// them, and their levels.
func (x *Join) begin(base func(core.Span), fn func(int, core.Span)) {
	oldest, newest := x.def.Window(x.base, x.open.Last)
	x.read(x.base, max(x.from, oldest), min(x.end, newest), base)
	at, end := max(x.from, newest), min(x.end, x.open.Last)
	for i := range x.levels {
		l := &x.levels[i]
		l.after = at
		if l.archive == core.OpenRow {
			break
		}
		oldest, newest := x.def.Window(l.archive, x.open.Last)
		if at < min(end, newest) {
			x.read(l.archive, max(oldest, at), min(-floor(-end, x.length(l.archive)), newest), func(s core.Span) { fn(i, s) })
			at = newest
		}
	}
}

// next calls fn with what to read of the next levels that have rows for holes: of several, if that
// is at most most values. If there is nothing to read, it fills the holes, and reports false.
func (x *Join) next(most int64, fn func(int, core.Span)) bool {
	if !x.begun {
		x.begun = true
		for at, known := range x.known {
			x.hole(at, known, x.end)
		}
	}
	for !x.whole() && len(x.levels) > 0 {
		if x.plan(most, fn) {
			return true
		}
		x.nexted()
	}
	return false
}

// plan is next for what is left when the rows that were read have filled the holes.
func (x *Join) plan(most int64, fn func(int, core.Span)) bool {
	holes := x.holes
	x.holes, x.spare, x.dry = make([][]span, len(holes)), nil, true
	for at := range holes {
		x.holes[at] = slices.Clone(holes[at])
	}
	for i := range x.levels {
		x.coverOf(&x.levels[i])
	}
	values, read, last := int64(0), 0, 0
	for x.reading = 0; x.reading < len(x.levels); x.reading++ {
		spans, n := x.reads(&x.levels[x.reading])
		if values > 0 && values+n > most {
			break
		}
		for _, s := range spans {
			fn(x.reading, s)
		}
		if values += n; n > 0 {
			read, last = read+1, x.reading
		}
	}
	x.holes, x.spare, x.dry = holes, nil, false
	if x.straight = read == 1; x.straight {
		for i := range x.levels[:last] {
			x.coverOf(&x.levels[i])
		}
	}
	return read > 0
}

func (x *Join) nexted() {
	for i := range x.reading {
		x.coverOf(&x.levels[i])
	}
	x.levels = x.levels[x.reading:]
}

func (x *Join) taken(l *level, r *core.Rows) {
	if x.straight {
		x.coverRows(l, r, x.start)
		return
	}
	kept := *r
	kept.Values = slices.Clone(r.Values)
	l.rows = append(l.rows, kept)
}

// coverOf fills holes with what was read of a level.
func (x *Join) coverOf(l *level) {
	after := x.start
	if x.dry {
		after = l.after
	}
	if l.archive == core.OpenRow && x.open.Values != nil {
		x.cover(x.open.From, x.open.Last-x.open.From, x.open.Values, after)
	}
	if !x.dry {
		slices.SortFunc(l.rows, func(a, b core.Rows) int { return cmp.Compare(a.Start, b.Start) })
	}
	for i := range l.rows {
		x.coverRows(l, &l.rows[i], after)
	}
}

// coverRows fills holes with rows of a level.
func (x *Join) coverRows(l *level, r *core.Rows, after int64) {
	if l.average && !x.bare && !x.dry {
		x.onlyBare()
	}
	x.cover(r.Start, r.Step, r.Values, after)
}

// onlyBare leaves holes only in points that would be unknown without the rows of AVERAGE.
func (x *Join) onlyBare() {
	x.bare = true
	if len(x.points) == 0 {
		return
	}
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
}

// reads returns what to read of a level for the holes, and how many values that is.
func (x *Join) reads(l *level) (spans []core.Span, values int64) {
	archive := l.archive
	if archive == core.OpenRow {
		return nil, 0
	}
	oldest, newest := x.def.Window(archive, x.open.Last)
	step := x.length(archive)
	all := x.holes[0]
	if len(x.holes) > 1 {
		all = slices.Concat(x.holes...)
		slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
	var r span
	flush := func() {
		x.read(archive, r.from, r.to, func(s core.Span) { spans = append(spans, s) })
		values += (r.to - r.from) / step * int64(len(x.def.Sources))
	}
	for _, h := range all {
		from, to := max(floor(h.from, step), oldest), min(-floor(-min(h.to, l.after), step), newest)
		switch {
		case from >= to:
		case r.from < r.to && from <= r.to+readNear*step:
			r.to = max(r.to, to)
		default:
			flush()
			r = span{from, to}
		}
	}
	flush()
	return spans, values
}

// pointOf returns the point in which the second behind t lies, and its end.
func (x *Join) pointOf(t int64) (p, end int64) {
	p = (t - x.start) / x.width
	return p, x.start + (p+1)*x.width
}

// cover fills holes behind the second after with rows that begin at start.
func (x *Join) cover(start, step int64, values []float64, after int64) {
	n := len(x.def.Sources)
	end := start + int64(len(values)/n)*step
	for at, ds := range x.want {
		left := x.spare[:0]
		for _, h := range x.holes[at] {
			from := max(start, h.from, min(after, h.to))
			for i := (from - start) / step; h.from < h.to && from < min(h.to, end); i++ {
				to := min(h.to, start+(i+1)*step)
				if v := values[int(i)*n+ds]; v == v {
					if !x.dry {
						x.add(at, from, to, v)
					}
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
