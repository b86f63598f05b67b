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
	to         Taker
	levels     []level  // other joins have the same ones
	level      int      // the next one
	unread     []span   // by level: the rows outside of it are read with the base
	columns    []column // by place in want
	points     []point
	places     []int32 // by slot: the place in points, plus 1; nil: points are few
	kept       []kept  // in the order of time
	reading    int     // levels that are read at once
	straight   bool    // of one level: its rows fill holes as they come
	bare       bool    // holes are of points that would be unknown without rows of AVERAGE
	begun      bool    // all rows of the base are there
	dry        bool    // holes are filled only to see what is left
	room       struct {
		columns [1]column
		points  [2]point
		kept    [3]kept
	}
}

// A Taker takes the rows of a base that are known, in the order of time. It must not keep them.
type Taker interface {
	Take(r *core.Rows)
}

// A level is an archive to look at, or core.OpenRow.
type level struct {
	archive int
	average bool // it is looked at for points of MIN or MAX that would be unknown otherwise
}

// A kept is rows that were read of a level.
type kept struct {
	level       int
	start, step int64
	values      []float64
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

// Init makes x a Join of points from start to end that are width seconds long. want lists data
// sources. to takes the rows of the base. What they do not know is holes.
func (x *Join) Init(ref core.Ref, d *rra.Definition, cf rra.CF, base int, start, end, width int64, want []int, o *Open, to Taker) {
	*x = Join{ref: ref, def: d, cf: cf, base: base, start: start, end: end, width: width, want: want, open: o, to: to}
	x.from = max(start, o.First)
	if x.columns = x.room.columns[:]; len(want) != len(x.columns) {
		x.columns = make([]column, len(want))
	}
	for at := range x.columns {
		c := &x.columns[at]
		c.holes, c.known = c.room[:0], x.from
	}
	x.points, x.kept = x.room.points[:0], x.room.kept[:0]
}

// levelsOf sets the levels of x, to the ones of another join if they are the same.
func (x *Join) levelsOf(other *Join) {
	switch {
	case x.cf > rra.Last: // rows of predictions are no readings
	case other != nil && x.def == other.def && x.cf == other.cf && x.base == other.base:
		x.levels = other.levels
	default:
		x.levels = append(make([]level, 0, 8), level{archive: core.OpenRow})
		x.others(0, x.cf, false)
		if x.cf == rra.Min || x.cf == rra.Max {
			x.others(len(x.levels), rra.Average, true)
		}
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
			left = k != i && knows(k, i) && all[k].Serves(cf)
		}
		if !left {
			x.levels = append(x.levels, level{archive: i, average: average})
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
	x.to.Take(r)
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
	return max(oldest, Ceil(x.open.First, x.length(archive))), newest
}

// begin plans to read the rows of the base, and the rows of finer archives in front of its window
// and behind it.
func (x *Join) begin(r *reader) {
	if x.levelsOf(r.before); len(x.levels) > 0 {
		r.before = x
	}
	first := len(r.unread)
	r.unread = slices.Grow(r.unread, len(x.levels))
	front, at, end := x.from, x.from, min(x.end, x.open.Last) // windows cover (front, at]
	for i := -1; i < len(x.levels); i++ {
		archive := x.base
		if i >= 0 {
			r.unread, archive = append(r.unread, span{front, at}), x.levels[i].archive
		}
		if archive == core.OpenRow {
			break
		}
		oldest, newest := x.window(archive)
		oldest = max(oldest, x.from)
		if oldest < min(front, newest) {
			r.read(x, i, oldest, min(Ceil(front, x.length(archive)), newest))
			if newest >= front {
				front = oldest
			}
		}
		if from := max(at, oldest); from < min(end, newest) {
			r.read(x, i, from, min(Ceil(end, x.length(archive)), newest))
			if at == x.from {
				front = oldest
			}
			at = newest
		}
	}
	x.unread = r.unread[first:len(r.unread):len(r.unread)]
}

// unreadOf returns the seconds whose rows of a level are not read with the base.
func (x *Join) unreadOf(level int) span {
	if level < len(x.unread) {
		return x.unread[level]
	}
	return span{math.MinInt64, math.MaxInt64}
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
	x.nexted(r, x.reading)
	for x.reading = 0; !x.whole() && x.level < len(x.levels); x.nexted(r, 1) {
		if x.levels[x.level].average {
			x.onlyBare(r)
		}
		if x.reads(r, x.level); r.values > 0 {
			x.reading, x.straight = 1, x.unreadOf(x.level).from <= x.from // no earlier rows are there
			x.more(r)
			return
		}
	}
}

// more plans to read further levels for what is left when the rows that are there fill holes.
func (x *Join) more(r *reader) {
	r.holes, r.copies, x.dry = r.holes[:0], r.copies[:0], true
	for at := range x.columns {
		c, first := &x.columns[at], len(r.copies)
		r.holes, r.copies = append(r.holes, c.holes), append(r.copies, c.holes...)
		c.holes = r.copies[first:len(r.copies):len(r.copies)]
	}
	for ; x.level+x.reading < len(x.levels); x.reading++ {
		next := x.level + x.reading
		if x.coverOf(r, next-1); x.levels[next].average {
			x.onlyBare(r)
		}
		spans, values := len(r.spans), r.values
		if x.reads(r, next); r.values > max(values, r.most) {
			r.cut(spans)
			r.values = values
			break
		}
		x.straight = x.straight && r.values == values
	}
	for at := range x.columns {
		x.columns[at].holes = r.holes[at]
	}
	x.dry = false
}

// nexted fills holes with the next levels, whose rows are there.
func (x *Join) nexted(r *reader, levels int) {
	for range levels {
		x.coverOf(r, x.level)
		x.level++
	}
}

func (x *Join) taken(r *reader, level int, rows *core.Rows) {
	if len(rows.Values) == 0 {
		return
	}
	if x.straight {
		x.coverRows(r, level, rows.Start, rows.Step, rows.Values)
		return
	}
	at := len(x.kept)
	for at > 0 && x.kept[at-1].start > rows.Start {
		at--
	}
	x.kept = slices.Insert(x.kept, at, kept{level, rows.Start, rows.Step, r.keep(rows.Values)})
}

// coverOf fills holes with what was read of a level.
func (x *Join) coverOf(r *reader, level int) {
	if o := x.open; x.levels[level].archive == core.OpenRow && o.Values != nil {
		x.cover(r, o.From, o.Last-o.From, o.Values)
	}
	for i := range x.kept {
		if k := &x.kept[i]; k.level == level {
			x.coverRows(r, level, k.start, k.step, k.values)
		}
	}
}

// coverRows fills holes with rows of a level.
func (x *Join) coverRows(r *reader, level int, start, step int64, values []float64) {
	if x.levels[level].average {
		x.onlyBare(r)
	}
	x.cover(r, start, step, values)
}

// onlyBare leaves holes only in points that would be unknown without the rows of AVERAGE.
func (x *Join) onlyBare(r *reader) {
	if x.bare {
		return
	}
	x.bare = !x.dry
	for at := 0; at < len(x.columns) && len(x.points) > 0; at++ {
		bare := r.spare[:0]
		for _, h := range x.columns[at].holes {
			for h.from < h.to {
				p, end := x.pointOf(h.from)
				if x.placeOf(slot{p, at}) < 0 {
					bare = append(bare, span{h.from, min(h.to, end)})
				}
				h.from = end
			}
		}
		x.setHoles(r, at, bare)
	}
}

// setHoles sets the holes of a column to spare, which r may have for others.
func (x *Join) setHoles(r *reader, at int, spare []span) {
	c := &x.columns[at]
	c.holes, r.spare = append(c.holes[:0], spare...), spare
}

// reads plans to read the rows of a level for the holes.
func (x *Join) reads(r *reader, level int) {
	archive, unread := x.levels[level].archive, x.unreadOf(level)
	if archive == core.OpenRow {
		return
	}
	oldest, newest := x.window(archive)
	step := x.length(archive)
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
		h = span{max(h.from, unread.from), min(h.to, unread.to)}
		from, to := max(Floor(h.from, step), oldest), min(Ceil(h.to, step), newest)
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
func (x *Join) cover(r *reader, start, step int64, values []float64) {
	n := len(x.def.Sources)
	end := start + int64(len(values)/n)*step
	for at, ds := range x.want {
		left := r.spare[:0]
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
		x.setHoles(r, at, left)
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

// fewPoints are searched one by one.
const fewPoints = 8

// point returns a point that the base does not know, or knows in part. The next call may move it.
func (x *Join) point(p int64, at int) *point {
	s := slot{p, at}
	i := x.placeOf(s)
	if i < 0 {
		i = len(x.points)
		if x.points = append(x.points, point{slot: s}); i == fewPoints {
			x.places = make([]int32, x.indexOf(slot{(x.end - x.start + x.width - 1) / x.width, 0}))
			for k := range x.points {
				x.places[x.indexOf(x.points[k].slot)] = int32(k) + 1
			}
		} else if i > fewPoints {
			x.places[x.indexOf(s)] = int32(i) + 1
		}
	}
	return &x.points[i]
}

// placeOf returns the place of a point in points, or -1.
func (x *Join) placeOf(s slot) int {
	if x.places != nil {
		return int(x.places[x.indexOf(s)]) - 1
	}
	i := len(x.points) - 1
	for i >= 0 && x.points[i].slot != s {
		i--
	}
	return i
}

func (x *Join) indexOf(s slot) int { return int(s.point)*len(x.want) + s.at }

// Each calls fn with each point that was filled: its number, the place of its data source in want,
// its value, how many of its seconds are known, and where the last of them ends.
func (x *Join) Each(fn func(p int64, at int, v float64, known, end int64)) {
	for i := range x.points {
		of := &x.points[i]
		fn(of.point, of.at, of.value(x.cf), of.seconds+of.n*of.each, of.end)
	}
}
