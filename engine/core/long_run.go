package core

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
)

// A reading after a long silence, still within the heartbeat, closes many rows of one value at
// once: up to a whole archive. Such rows are never written one by one. A run that covers less than
// longSlots slots becomes a piece of pending rows for each slot, which takes the same few bytes for
// one row or a thousand. A run that covers more is a long run. It stays with the state of the
// group, in memory and in the state record, until the window of the archive has passed it. No two
// long runs of a column overlap, so a column has few of them.

// longSlots is how many slots a run must cover to be a long run.
const longSlots = 4

// longRows is how many rows a run must have to be a long run.
func longRows(st *rowblock.Geometry) int64 { return longSlots * st.Slot }

// A longRun is rows of one column that are all of one value.
type longRun struct {
	first, rows int64
	value       float64
}

// longRunBytes is about how much memory a long run takes, with its share of the map.
const longRunBytes = 64

// maxLongRuns bounds the long runs of a column: an archive of rowblock.MaxSlots slots has room for
// no more.
const maxLongRuns = rowblock.MaxSlots/longSlots + 2

// pushRun puts count rows of one value, from row k on, into pending rows and a long run. count is
// more than a buffer holds. It returns the first row that is left and how many are: no more than
// the buffer holds.
func (g *group) pushRun(i, col int, st *rowblock.Geometry, k, count int64, v float64) (int64, int64) {
	if edge := (rowblock.FloorDiv(k, st.Slot)+1)*st.Slot - k; edge < st.Slot && edge <= count {
		g.waiting().AddRun(i, col, uint32(k), int(edge), v, st.PDPs)
		k += edge
		count -= edge
	}
	if count >= longRows(st) {
		whole := count / st.Slot * st.Slot
		g.addLongRun(i, col, longRun{k, whole, v})
		k += whole
		count -= whole
	}
	for count > st.Buffer {
		n := min(count, (rowblock.FloorDiv(k, st.Slot)+1)*st.Slot-k)
		g.waiting().AddRun(i, col, uint32(k), int(n), v, st.PDPs)
		k += n
		count -= n
	}
	return k, count
}

// addLongRun adds a long run to a column, and drops those that the archive then keeps no row of.
func (g *group) addLongRun(i, col int, r longRun) {
	if g.longRuns == nil {
		g.longRuns = make(map[int][]longRun)
	}
	at := i*g.c.cols + col
	low := r.first + r.rows - g.c.streams[col/g.c.sources].Rows
	runs := slices.DeleteFunc(g.longRuns[at], func(old longRun) bool { return old.first+old.rows <= low })
	g.setLongRuns(at, append(runs, r))
}

// setLongRuns replaces the long runs of a column, which is index*cols + column.
func (g *group) setLongRuns(at int, runs []longRun) {
	g.c.space.Count(longRunBytes * int64(len(runs)-len(g.longRuns[at])))
	if len(runs) == 0 {
		delete(g.longRuns, at)
		return
	}
	g.longRuns[at] = runs
}

// dropLongRuns drops the long runs of the series at index i.
func (g *group) dropLongRuns(i int) {
	if len(g.longRuns) == 0 {
		return
	}
	for at := i * g.c.cols; at < (i+1)*g.c.cols; at++ {
		g.setLongRuns(at, nil)
	}
}

// forgetLongRuns drops the long runs of all series.
func (g *group) forgetLongRuns() {
	for at := range g.longRuns {
		g.setLongRuns(at, nil)
	}
	g.longRuns = nil
}

// expireLongRuns drops the long runs that the windows of their archives have passed, so that a
// state record depends on the state alone.
func (g *group) expireLongRuns() {
	c := g.c
	for at, runs := range g.longRuns {
		i := at / c.cols
		if g.refused[i] != nil {
			continue
		}
		st := &c.streams[at%c.cols/c.sources]
		last := g.lastUpdate(i).Unix()
		low := rowblock.FloorDiv(last, st.Span) - st.Rows + 1
		g.setLongRuns(at, slices.DeleteFunc(slices.Clone(runs), func(r longRun) bool { return r.first+r.rows <= low }))
	}
}

// appendLongRuns codes how many columns have long runs. For each column follow its number and how
// many runs it has. For each run follow the distance of its first row from the end of the run
// before it, its rows and its value. It is part of the format.
func (g *group) appendLongRuns(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(g.longRuns)))
	for _, at := range slices.Sorted(maps.Keys(g.longRuns)) {
		dst = binary.AppendUvarint(dst, uint64(at))
		dst = binary.AppendUvarint(dst, uint64(len(g.longRuns[at])))
		end := int64(0)
		for _, r := range g.longRuns[at] {
			dst = binary.AppendVarint(dst, r.first-end)
			dst = binary.AppendUvarint(dst, uint64(r.rows))
			dst = record.AppendFloat(dst, r.value)
			end = r.first + r.rows
		}
	}
	return dst
}

// readLongRuns is the inverse of appendLongRuns. The group has its arrays already.
func readLongRuns(r *record.Reader, g *group) {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return
	}
	if n > 0 {
		g.longRuns = make(map[int][]longRun)
	}
	for range n {
		at, count := r.Uvarint(), r.Uvarint()
		if at >= uint64(g.n*g.c.cols) || count == 0 || count > maxLongRuns || g.longRuns[int(at)] != nil {
			r.Fail()
			return
		}
		st := &g.c.streams[int(at)%g.c.cols/g.c.sources]
		runs := make([]longRun, 0, count)
		for end := int64(0); len(runs) < int(count); {
			d, rows := r.Varint(), r.Uvarint()
			x := longRun{end + d, int64(rows), r.Float()}
			if r.Err != nil || d < -int64(MaxTime) || d > int64(MaxTime) || len(runs) > 0 && d < 0 || rows < 1 || rows > uint64(st.Rows) {
				r.Fail()
				return
			}
			runs, end = append(runs, x), x.first+x.rows
		}
		g.setLongRuns(int(at), runs)
	}
}
