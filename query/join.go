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
// The rows in front of the window of the base and behind it are read with the base: which archive
// knows them follows from the first second of the series and its last update. All other holes are
// read at once, of all levels, if they are not too many.
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
	columns    []column // by place in want
	spare      []span
	points     []point
	places     map[slot]int // in points
	reading    int          // levels that are read at once
	straight   bool         // of one level: its rows fill holes as they come
	bare       bool         // holes are of points that would be unknown without rows of AVERAGE
	begun      bool         // all rows of the base are there
	dry        bool         // holes are filled only to see what is left
}

// A level is an archive to look at, or core.OpenRow.
type level struct {
	archive int
	average bool        // it is looked at for points of MIN or MAX that would be unknown otherwise
	unread  span        // the rows outside of it are read with the base
	rows    []core.Rows // that were read
}

// A column is what is known of a data source.
type column struct {
	holes []span // in order
	known int64  // where the last known row of the base ends
	room  [2]span
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
	x := new(Join)
	x.init(ref, d, cf, base, start, end, width, want, o, rows)
	return x
}

func (x *Join) init(ref core.Ref, d *rra.Definition, cf rra.CF, base int, start, end, width int64, want []int, o *Open, rows func(*core.Rows)) {
	*x = Join{ref: ref, def: d, cf: cf, base: base, start: start, end: end, width: width, want: want, open: o, rows: rows}
	x.from = max(start, o.First)
	x.columns = make([]column, len(want))
	for at := range x.columns {
		c := &x.columns[at]
		c.holes, c.known = c.room[:0], x.from
	}
	if cf > rra.Last {
		return // rows of predictions are no readings
	}
	x.levels = append(make([]level, 0, 8), level{archive: core.OpenRow, unread: span{math.MinInt64, math.MaxInt64}})
	x.others(0, cf, false)
	if cf == rra.Min || cf == rra.Max {
		x.others(len(x.levels), rra.Average, true)
	}
}

// others adds the archives of cf other than the base as levels, and sorts the levels from the one
// at first on: the open row is between the finer and the coarser ones. It leaves out archives that
// know no more than the base or than another one, and of average the ones that serve x.cf.
func (x *Join) others(first int, cf rra.CF, average bool) {
	all := x.def.Archives
	knows := func(i, other int) bool {
		a, b := &all[i], &all[other]
		same := a.PDPs == b.PDPs && (a.PDPs == 1 || a.CF == b.CF && a.XFF == b.XFF)
		return same && (a.Rows > b.Rows || a.Rows == b.Rows && (i == x.base || other != x.base && i < other))
	}
	for i := range all {
		left := i == x.base || !all[i].Serves(cf) || average && all[i].Serves(x.cf)
		for k := 0; k < len(all) && !left; k++ {
			left = k != i && all[k].Serves(cf) && knows(k, i)
		}
		if !left {
			x.levels = append(x.levels, level{archive: i, average: average, unread: span{math.MinInt64, math.MaxInt64}})
		}
	}
	base := all[x.base].PDPs
	place := func(i int) (coarse int, length int64) {
		switch {
		case i == core.OpenRow:
			return 1, 0
		case all[i].PDPs > base:
			return 2, all[i].PDPs
		}
		return 0, -all[i].PDPs
	}
	slices.SortStableFunc(x.levels[first:], func(i, k level) int {
		a, length := place(i.archive)
		b, other := place(k.archive)
		return cmp.Or(cmp.Compare(a, b), cmp.Compare(length, other))
	})
}

// hole notes that the base does not know the seconds (from, to] of the data source at a place in
// want. It is called in the order of time.
func (x *Join) hole(at int, from, to int64) {
	if to = min(to, x.open.Last); from < to && len(x.levels) > 0 {
		x.columns[at].holes = append(x.columns[at].holes, span{from, to})
	}
}

// take takes rows of the base: what lies between known rows is a hole.
func (x *Join) take(r *core.Rows) {
	n := len(x.def.Sources)
	for at, ds := range x.want {
		known, end := x.columns[at].known, r.Start
		for i := ds; i < len(r.Values); i += n {
			if end += r.Step; r.Values[i] == r.Values[i] {
				if known < end-r.Step {
					x.hole(at, known, end-r.Step)
				}
				known = end
			}
		}
		x.columns[at].known = known
	}
	x.rows(r)
}

// Since returns the second behind which the base knows something, or where its rows end.
func (x *Join) Since() int64 {
	_, newest := x.def.Window(x.base, x.open.Last)
	since := min(x.end, newest)
	for i := range x.columns {
		switch h := x.columns[i].holes; {
		case x.columns[i].known == x.from: // of no row
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
	return !slices.ContainsFunc(x.columns, func(c column) bool { return len(c.holes) > 0 })
}

// length returns the seconds of a row of an archive.
func (x *Join) length(archive int) int64 { return x.def.Step * x.def.Archives[archive].PDPs }

const (
	readRows = pieceRows // of one read, at most
	readNear = 64        // rows between two holes that are read with them
)

// window returns the range (oldest, newest] of seconds in which an archive may know something: a
// known row begins at the first second of the series or later.
func (x *Join) window(archive int) (oldest, newest int64) {
	oldest, newest = x.def.Window(archive, x.open.Last)
	return max(oldest, ceil(x.open.First, x.length(archive))), newest
}

// begin plans to read the rows of the base, and the rows of finer archives in front of its window
// and behind it.
func (x *Join) begin(r *reader) {
	front, at, end := x.from, x.from, min(x.end, x.open.Last) // windows cover (front, at]
	for i := -1; i < len(x.levels); i++ {
		archive := x.base
		if i >= 0 {
			x.levels[i].unread, archive = span{front, at}, x.levels[i].archive
		}
		if archive == core.OpenRow {
			break
		}
		oldest, newest := x.window(archive)
		oldest = max(oldest, x.from)
		if oldest < min(front, newest) {
			r.read(x, i, oldest, min(ceil(front, x.length(archive)), newest))
			if newest >= front {
				front = oldest
			}
		}
		if from := max(at, oldest); from < min(end, newest) {
			r.read(x, i, from, min(ceil(end, x.length(archive)), newest))
			if at == x.from {
				front = oldest
			}
			at = newest
		}
	}
}

// next fills holes with the levels up to the first one that has rows to read. It plans to read
// them, and with them rows of further levels.
func (x *Join) next(r *reader) {
	if !x.begun {
		x.begun = true
		for at := range x.columns {
			x.hole(at, x.columns[at].known, x.end)
		}
	}
	x.nexted(x.reading)
	for x.reading = 0; !x.whole() && len(x.levels) > 0; x.nexted(1) {
		if x.reads(r, 0); r.values > 0 {
			x.reading, x.straight = 1, x.levels[0].unread.from <= x.from // no earlier rows are there
			x.more(r)
			return
		}
	}
}

// more plans to read further levels for what is left when the rows that are there fill holes.
func (x *Join) more(r *reader) {
	columns, spare := x.columns, x.spare
	x.columns, x.spare, x.dry = slices.Clone(columns), nil, true
	for at := range columns {
		x.columns[at].holes = slices.Clone(columns[at].holes)
	}
	for ; x.reading < len(x.levels); x.reading++ {
		x.coverOf(&x.levels[x.reading-1])
		spans, values := len(r.spans), r.values
		if x.reads(r, x.reading); r.values > max(values, r.most) {
			r.cut(spans)
			r.values = values
			break
		}
		x.straight = x.straight && r.values == values
	}
	x.columns, x.spare, x.dry = columns, spare, false
}

// nexted fills holes with the next levels, whose rows are there.
func (x *Join) nexted(levels int) {
	for i := range levels {
		x.coverOf(&x.levels[i])
	}
	x.levels = x.levels[levels:]
}

func (x *Join) taken(l *level, r *core.Rows) {
	if x.straight {
		x.coverRows(l, r)
		return
	}
	kept := *r
	kept.Values = slices.Clone(r.Values)
	l.rows = append(l.rows, kept)
}

// coverOf fills holes with what was read of a level.
func (x *Join) coverOf(l *level) {
	if l.archive == core.OpenRow && x.open.Values != nil {
		x.cover(x.open.From, x.open.Last-x.open.From, x.open.Values)
	}
	slices.SortFunc(l.rows, func(a, b core.Rows) int { return cmp.Compare(a.Start, b.Start) })
	for i := range l.rows {
		x.coverRows(l, &l.rows[i])
	}
}

// coverRows fills holes with rows of a level.
func (x *Join) coverRows(l *level, r *core.Rows) {
	if l.average && !x.bare && !x.dry {
		x.onlyBare()
	}
	x.cover(r.Start, r.Step, r.Values)
}

// onlyBare leaves holes only in points that would be unknown without the rows of AVERAGE.
func (x *Join) onlyBare() {
	x.bare = true
	if len(x.points) == 0 {
		return
	}
	for at := range x.columns {
		var bare []span
		for _, h := range x.columns[at].holes {
			for h.from < h.to {
				p, end := x.pointOf(h.from)
				if _, there := x.places[slot{p, at}]; !there {
					bare = append(bare, span{h.from, min(h.to, end)})
				}
				h.from = end
			}
		}
		x.columns[at].holes = bare
	}
}

// reads plans to read the rows of a level for the holes.
func (x *Join) reads(r *reader, level int) {
	l := &x.levels[level]
	if l.archive == core.OpenRow {
		return
	}
	oldest, newest := x.window(l.archive)
	step := x.length(l.archive)
	all := x.columns[0].holes
	if len(x.columns) > 1 {
		all = nil
		for at := range x.columns {
			all = append(all, x.columns[at].holes...)
		}
		slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
	var near span
	for _, h := range all {
		h = span{max(h.from, l.unread.from), min(h.to, l.unread.to)}
		from, to := max(floor(h.from, step), oldest), min(ceil(h.to, step), newest)
		switch {
		case h.from >= h.to || from >= to:
		case near.from < near.to && from <= near.to+readNear*step:
			near.to = max(near.to, to)
		default:
			r.read(x, level, near.from, near.to)
			near = span{from, to}
		}
	}
	r.read(x, level, near.from, near.to)
}

// pointOf returns the point in which the second behind t lies, and its end.
func (x *Join) pointOf(t int64) (p, end int64) {
	p = (t - x.start) / x.width
	return p, x.start + (p+1)*x.width
}

// cover fills holes with rows that begin at start.
func (x *Join) cover(start, step int64, values []float64) {
	n := len(x.def.Sources)
	end := start + int64(len(values)/n)*step
	for at, ds := range x.want {
		left := x.spare[:0]
		for _, h := range x.columns[at].holes {
			from := max(start, h.from)
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
		x.columns[at].holes, x.spare = left, x.columns[at].holes
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

// point returns a point that the base does not know, or knows in part. The next call may move it.
func (x *Join) point(p int64, at int) *point {
	s := slot{p, at}
	if n := len(x.points); n > 0 && x.points[n-1].slot == s {
		return &x.points[n-1]
	}
	i, there := x.places[s]
	if !there {
		if x.places == nil {
			x.places, x.points = make(map[slot]int), make([]point, 0, 4)
		}
		i = len(x.points)
		x.places[s], x.points = i, append(x.points, point{slot: s})
	}
	return &x.points[i]
}

// Each calls fn with each point that was filled: its number, the place of its data source in want,
// its value, how many of its seconds are known, and where the last of them ends.
func (x *Join) Each(fn func(p int64, at int, v float64, known, end int64)) {
	for i := range x.points {
		of := &x.points[i]
		fn(of.point, of.at, of.value(x.cf), of.seconds+of.n*of.each, of.end)
	}
}
