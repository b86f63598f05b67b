package core

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/rra"
)

// Within a checkpoint's transaction the blocks of a group are put in order:
//
//   - new rows of a slot become one more sub-block of it;
//   - a slot whose last row has come, or that has many sub-blocks, is merged into one;
//   - a slot that has left the window of the group's newest series is deleted. What
//     series that lag behind still keep of it moves to the lag bucket, a record a
//     series, stream and slot, where it stays until their own window has passed.

const (
	mergeFew  = 3       // sub-blocks that are merged when the slot is complete
	mergeMany = 16      // sub-blocks that are merged even if the slot still grows
	mergeTiny = 8       // a complete slot is not merged again for a sub-block this many times smaller
	maxSub    = 1 << 15 // a merge that reaches this number begins again at 0
)

// A newBlock is what a checkpoint adds to a slot.
type newBlock struct {
	stream int
	slot   int64
	segs   []segment
	merged bool
}

// A checkpointTx collects what a transaction of a checkpoint writes.
type checkpointTx struct {
	s                *Store
	state, rows, lag *bolt.Bucket
	puts, states     []pair
	deletes          [][]byte
	lags             map[string][]byte // without checksums; nil: deleted
	lagging          map[string]bool   // columns with new records in lags: the first part of their keys
	buf              []byte            // blocks; values in puts point into it or its predecessors
}

// settle decides what group sn.g writes.
func (w *checkpointTx) settle(sn *snapshot) error {
	for st := range sn.g.c.streams { // first: what it moves of a slot is older than new rows that come late
		if err := w.expire(sn, st); err != nil {
			return err
		}
	}
	var err error
	blocks := slices.DeleteFunc(sn.collect(), func(b newBlock) bool {
		late := b.slot < sn.windowSlot(b.stream)
		if late && err == nil {
			err = w.addLags(sn, b.stream, b.slot, b.segs)
		}
		return late
	})
	if err != nil {
		return err
	}
	for st := range sn.g.c.streams {
		if err := w.merge(sn, st, blocks); err != nil {
			return err
		}
	}
	for i := range blocks {
		if b := &blocks[i]; !b.merged {
			w.putBlock(sn, b.stream, b.slot, b.segs)
		}
	}
	if err := w.dropLags(sn); err != nil {
		return err
	}
	w.states = append(w.states, pair{sn.g.stateKey(), endState(sn.state, sn.dir)})
	return nil
}

// collect makes segments of the frozen rows that their series still keep, by slot and in order of
// columns: a series after the other, each in the order its rows came.
func (sn *snapshot) collect() []newBlock {
	g := sn.g
	var blocks []newBlock
	var mine []entry
	for i := range sn.alive {
		if !sn.alive[i] {
			continue
		}
		mine = mine[:0]
		for j := len(sn.frozen) - 1; j >= 0; j-- {
			sn.frozen[j].of(i, func(e entry) bool {
				mine = append(mine, e)
				return true
			})
		}
		for j := len(mine) - 1; j >= 0; j-- {
			blocks = sn.place(blocks, i, &mine[j])
		}
	}
	slices.SortFunc(blocks, func(a, b newBlock) int {
		if a.stream != b.stream {
			return a.stream - b.stream
		}
		return cmp.Compare(a.slot, b.slot)
	})
	if g.c.sources > 1 {
		for i := range blocks {
			slices.SortStableFunc(blocks[i].segs, compareSegments)
		}
	}
	return blocks
}

// place adds the rows of an entry to the block of their slot, if the series still keeps them.
func (sn *snapshot) place(blocks []newBlock, i int, e *entry) []newBlock {
	c := sn.g.c
	stream := e.col / c.sources
	st := &c.streams[stream]
	low := sn.lows[stream][i]
	k := fullIndex(e.base, low+st.rows-1)
	if k+int64(e.rows) <= low {
		return blocks // gone before it was written
	}
	slot := floorDiv(k, st.slot)
	at := len(blocks) - 1
	for at >= 0 && (blocks[at].stream != stream || blocks[at].slot != slot) {
		at--
	}
	if at < 0 {
		at = len(blocks)
		blocks = append(blocks, newBlock{stream: stream, slot: slot, segs: make([]segment, 0, len(sn.alive))})
	}
	blocks[at].segs = append(blocks[at].segs, segment{
		stream: stream, slot: slot, column: i*c.sources + e.col%c.sources,
		skip: int(k - slot*st.slot), rows: e.rows, data: e.data,
	})
	return blocks
}

// windowSlot is the oldest slot that the newest series still keeps rows of.
func (sn *snapshot) windowSlot(stream int) int64 {
	st := &sn.g.c.streams[stream]
	return floorDiv(sn.last[stream]-st.rows+1, st.slot)
}

// putBlock adds a sub-block to a slot.
func (w *checkpointTx) putBlock(sn *snapshot, stream int, slot int64, segs []segment) {
	if len(segs) == 0 {
		return
	}
	e := sn.dir.slot(stream, slot)
	k := rowKey(nil, sn.g.c.id, stream, slot, e.hi, sn.g.id)
	e.hi++
	from := len(w.buf)
	w.buf = appendBlock(w.buf, segs)
	w.puts = append(w.puts, pair{k, w.buf[from:len(w.buf):len(w.buf)]})
}

// get returns a stored sub-block.
func (w *checkpointTx) get(g *group, stream int, slot int64, sub uint16) ([]byte, error) {
	v := w.rows.Get(rowKey(nil, g.c.id, stream, slot, sub, g.id))
	if v == nil {
		return nil, fmt.Errorf("rows of class %d, stream %d, slot %d, sub-block %d, group %d: %w", g.c.id, stream, slot, sub, g.id, errMissing)
	}
	return v, nil
}

func (w *checkpointTx) remove(g *group, stream int, e slotEntry) {
	for sub := e.lo; sub < e.hi; sub++ {
		w.deletes = append(w.deletes, rowKey(nil, g.c.id, stream, e.slot, sub, g.id))
	}
}

// expire deletes the slots of a stream that have left the window.
func (w *checkpointTx) expire(sn *snapshot, stream int) error {
	entries := sn.dir.slots[stream]
	low := sn.windowSlot(stream)
	n := 0
	for n < len(entries) && entries[n].slot < low {
		if err := w.rescue(sn, stream, entries[n]); err != nil {
			return err
		}
		w.remove(sn.g, stream, entries[n])
		n++
	}
	if n > 0 {
		w.s.failpoint("expire")
	}
	sn.dir.slots[stream] = entries[n:]
	return nil
}

// rescue moves what lagging series keep of a slot to the lag bucket.
func (w *checkpointTx) rescue(sn *snapshot, stream int, e slotEntry) error {
	c := sn.g.c
	st := &c.streams[stream]
	end := (e.slot + 1) * st.slot
	behind := func(i int) bool { return i < len(sn.alive) && sn.alive[i] && sn.lows[stream][i] < end }
	if !slices.ContainsFunc(indices(len(sn.alive)), behind) {
		return nil
	}
	segs, err := w.stored(sn, stream, e)
	if err != nil {
		return err
	}
	segs = slices.DeleteFunc(segs, func(sg segment) bool { return !behind(sg.column / c.sources) })
	return w.addLags(sn, stream, e.slot, segs)
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// stored returns the segments of a slot's sub-blocks, sorted, but those of series that are gone.
func (w *checkpointTx) stored(sn *snapshot, stream int, e slotEntry) ([]segment, error) {
	c := sn.g.c
	st := &c.streams[stream]
	var segs []segment
	for sub := e.lo; sub < e.hi; sub++ {
		b, err := w.get(sn.g, stream, e.slot, sub)
		if err != nil {
			return nil, err
		}
		if _, ok := cutSum(b); !ok {
			return nil, fmt.Errorf("rows of class %d, stream %d, slot %d, sub-block %d, group %d: %w", c.id, stream, e.slot, sub, sn.g.id, errSum)
		}
		for i := range columns(b) {
			if series := i / c.sources; series >= len(sn.alive) || !sn.alive[series] {
				continue
			}
			col, err := column(b, i)
			if err == nil {
				err = splitColumn(col, st, func(skip, rows int, data []byte) {
					segs = append(segs, segment{stream, e.slot, i, skip, rows, data})
				})
			}
			if err != nil {
				return nil, err
			}
		}
		w.s.adviseDone(b)
	}
	slices.SortStableFunc(segs, compareSegments)
	return segs, nil
}

// merge makes one block of the sub-blocks of each slot that is due, new rows included.
func (w *checkpointTx) merge(sn *snapshot, stream int, blocks []newBlock) error {
	st := &sn.g.c.streams[stream]
	entries := sn.dir.slots[stream]
	for i := range entries {
		e := &entries[i]
		var fresh *newBlock
		for j := range blocks {
			if b := &blocks[j]; b.stream == stream && b.slot == e.slot {
				fresh = b
			}
		}
		subs := int(e.hi - e.lo)
		complete := (e.slot+1)*st.slot-1 <= sn.last[stream]
		if fresh != nil {
			subs++
		}
		if subs < mergeFew || !complete && subs < mergeMany {
			continue
		}
		if complete && subs < mergeMany && fresh != nil && w.tiny(sn.g, stream, *e, fresh) {
			continue
		}
		segs, err := w.stored(sn, stream, *e)
		if err != nil {
			return err
		}
		if fresh != nil {
			segs = append(segs, fresh.segs...)
			slices.SortStableFunc(segs, compareSegments)
			fresh.merged = true
		}
		w.remove(sn.g, stream, *e)
		e.lo = e.hi
		if e.hi >= maxSub {
			e.lo, e.hi = 0, 0 // the numbers from 0 are long free again
		}
		if segs, err = joinSegments(segs, st); err != nil {
			return err
		}
		w.putBlock(sn, stream, e.slot, segs)
		w.s.failpoint("merge")
	}
	sn.dir.slots[stream] = slices.DeleteFunc(entries, func(e slotEntry) bool { return e.lo == e.hi && !waits(blocks, stream, e.slot) })
	return nil
}

// waits says whether new rows of a slot are still to be put.
func waits(blocks []newBlock, stream int, slot int64) bool {
	return slices.ContainsFunc(blocks, func(b newBlock) bool { return b.stream == stream && b.slot == slot && !b.merged })
}

// tiny says whether new rows are too few to write a complete slot once more.
func (w *checkpointTx) tiny(g *group, stream int, e slotEntry, fresh *newBlock) bool {
	size := 0
	for i := range fresh.segs {
		size += len(fresh.segs[i].data) + 8
	}
	b, err := w.get(g, stream, e.slot, e.lo)
	return err == nil && size*mergeTiny < len(b)
}

// joinSegments codes neighbouring segments of a column as one.
func joinSegments(segs []segment, st *stream) ([]segment, error) {
	out := segs[:0:0]
	var rows []float64
	for i := 0; i < len(segs); {
		j := i + 1
		for j < len(segs) && segs[j].column == segs[i].column && segs[j].skip == segs[j-1].skip+segs[j-1].rows {
			j++
		}
		if j == i+1 {
			out = append(out, segs[i])
			i = j
			continue
		}
		rows = rows[:0]
		for _, sg := range segs[i:j] {
			var err error
			if rows, _, err = rra.DecodeRows(rows, sg.data, sg.rows, st.pdps); err != nil {
				return nil, err
			}
		}
		sg := segs[i]
		sg.rows = len(rows)
		sg.data = rra.AppendRows(nil, rows, st.pdps, nil)
		out = append(out, sg)
		i = j
	}
	return out, nil
}

// lagKey addresses rows of a series that has fallen behind its group.
func lagKey(g *group, column, stream int, slot int64) []byte {
	k := groupKey(nil, g.c.id, g.id)
	k = binary.BigEndian.AppendUint16(k, uint16(column))
	k = binary.BigEndian.AppendUint16(k, uint16(stream))
	return binary.BigEndian.AppendUint64(k, uint64(slot)^1<<63)
}

const (
	lagColumnSize = 8 + 2 // of a lag key: group and column
	lagKeySize    = lagColumnSize + 2 + 8
)

// addLags appends segments of one slot to the records of their columns.
func (w *checkpointTx) addLags(sn *snapshot, stream int, slot int64, segs []segment) error {
	if w.lags == nil {
		w.lags = make(map[string][]byte)
	}
	if w.lagging == nil {
		w.lagging = make(map[string]bool)
	}
	for i := range segs {
		sg := &segs[i]
		series := sg.column / sn.g.c.sources
		if low := sn.lows[stream][series]; slot*sn.g.c.streams[stream].slot+int64(sg.skip+sg.rows) <= low {
			continue
		}
		k := string(lagKey(sn.g, sg.column, stream, slot))
		v, ok := w.lags[k]
		if stored := w.lag.Get([]byte(k)); !ok && stored != nil {
			if v, ok = cutSum(stored); !ok {
				return fmt.Errorf("lagging rows of column %d, stream %d, slot %d, group %d of class %d: %w",
					sg.column, stream, slot, sn.g.id, sn.g.c.id, errSum)
			}
			v = bytes.Clone(v)
		}
		w.lags[k] = appendSegment(v, sg)
		w.lagging[k[:lagColumnSize]] = true
		sn.dir.addLag(series)
	}
	return nil
}

// dropLags deletes the lag records of series whose window has passed them.
func (w *checkpointTx) dropLags(sn *snapshot) error {
	c := sn.g.c
	sn.dir.lags = slices.DeleteFunc(sn.dir.lags, func(index uint16) bool {
		keeps := false
		for column := int(index) * c.sources; column < (int(index)+1)*c.sources; column++ {
			prefix := lagKey(sn.g, column, 0, 0)[:lagColumnSize]
			keeps = keeps || w.lagging[string(prefix)]
			cur := w.lag.Cursor()
			for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix) && len(k) == lagKeySize; k, _ = cur.Next() {
				if w.lagPassed(sn, int(index), k) {
					w.lags = setLag(w.lags, string(k))
				} else {
					keeps = true
				}
			}
		}
		return !keeps
	})
	return nil
}

func (w *checkpointTx) lagPassed(sn *snapshot, index int, k []byte) bool {
	stream := int(binary.BigEndian.Uint16(k[10:]))
	slot := int64(binary.BigEndian.Uint64(k[12:]) ^ 1<<63)
	if index >= len(sn.alive) || !sn.alive[index] || stream >= len(sn.g.c.streams) {
		return true
	}
	return (slot+1)*sn.g.c.streams[stream].slot <= sn.lows[stream][index]
}

func setLag(m map[string][]byte, k string) map[string][]byte {
	if m == nil {
		m = make(map[string][]byte)
	}
	m[k] = nil
	return m
}

// write puts and deletes in order of keys.
func (w *checkpointTx) write() error {
	w.state.FillPercent = 0.9
	if err := putSorted(w.state, w.states); err != nil {
		return err
	}
	w.rows.FillPercent = 1
	if err := putSorted(w.rows, w.puts); err != nil {
		return err
	}
	slices.SortFunc(w.deletes, bytes.Compare)
	for _, k := range w.deletes {
		if err := w.rows.Delete(k); err != nil {
			return err
		}
	}
	var lags []pair
	for k, v := range w.lags {
		if v == nil {
			if err := w.lag.Delete([]byte(k)); err != nil {
				return err
			}
			continue
		}
		lags = append(lags, pair{[]byte(k), appendSum(v)})
	}
	return putSorted(w.lag, lags)
}
