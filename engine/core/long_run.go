package core

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// A reading after a long silence, still within the heartbeat, closes many rows at once, all of one
// value: up to the whole archive. So many rows are never spelled out. What covers less than a few
// slots becomes a segment for each of them, which takes the same few bytes for one row or a
// thousand. What covers more is a long run: it stays with the group's state, in memory and in the
// state record, until the archive's window has passed it. A run is never shorter than longSlots
// slots, and no two of a column overlap, so that a column has a small number of them.

// longSlots is how many slots a run must cover to be a long run.
const longSlots = 4

// longRows is how many rows a run must have to be a long run.
func longRows(st *rowblock.Geometry) int64 { return longSlots * st.Slot }

// A longRun is rows of one column that are all of one value.
type longRun struct {
	first, rows int64
	value       float64
}

// longRunBytes is what a long run takes of the memory, its share of the map included.
const longRunBytes = 64

// maxLongRuns bounds the long runs of a column: with maxSlots slots an archive has room for no
// more.
const maxLongRuns = rowblock.MaxSlots/longSlots + 2

// pushRun takes rows of one value, more than a buffer holds, into segments and a long run. What it
// leaves, the buffer holds.
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

// addLongRun keeps r, and gives up the long runs of its column that the archive then keeps no row
// of.
func (g *group) addLongRun(i, col int, r longRun) {
	if g.longRuns == nil {
		g.longRuns = make(map[int][]longRun)
	}
	at := i*g.c.cols + col
	low := r.first + r.rows - g.c.streams[col/g.c.sources].Rows
	runs := slices.DeleteFunc(g.longRuns[at], func(old longRun) bool { return old.first+old.rows <= low })
	g.setLongRuns(at, append(runs, r))
}

// setLongRuns makes runs those of a column, which still has those before.
func (g *group) setLongRuns(at int, runs []longRun) {
	g.c.space.Count(longRunBytes * int64(len(runs)-len(g.longRuns[at])))
	if len(runs) == 0 {
		delete(g.longRuns, at)
		return
	}
	g.longRuns[at] = runs
}

// dropLongRuns gives up the long runs of series i.
func (g *group) dropLongRuns(i int) {
	if len(g.longRuns) == 0 {
		return
	}
	for at := i * g.c.cols; at < (i+1)*g.c.cols; at++ {
		g.setLongRuns(at, nil)
	}
}

// forgetLongRuns gives up those of all series.
func (g *group) forgetLongRuns() {
	for at := range g.longRuns {
		g.setLongRuns(at, nil)
	}
	g.longRuns = nil
}

// expireLongRuns gives up the long runs that their archives keep no row of any more, so that what a
// state record holds depends on the state alone.
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

// appendLongRuns codes how many columns have long runs; for each its number, how many it has, and
// of each run how far its first row is from the end of the run before it, its rows and its value.
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

// longRuns is the inverse of appendLongRuns. The group has its arrays already.
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
