package core

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
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
	segs   []rowblock.Strip
	merged bool
}

// A checkpointTx collects what a transaction of a checkpoint writes.
type checkpointTx struct {
	cp               *checkpointer
	tx               *boltfile.Tx
	state, rows, lag *boltfile.Bucket
	puts, states     []pair
	deletes          [][]byte
	lags             map[string][]byte // without checksums; nil: deleted
	// columns with new records in lags: the first part of their keys
	lagging map[string]bool
	buf     []byte // blocks; values in puts point into it or its predecessors
}

// settle decides what group sn.g writes.
func (w *checkpointTx) settle(sn *snapshot) error {
	// first: what it moves of a slot is older than new rows that come late
	for st := range sn.g.c.streams {
		w.expire(sn, st)
	}
	blocks := slices.DeleteFunc(sn.collect(), func(b newBlock) bool {
		return b.slot < sn.windowSlot(b.stream) && w.addLags(sn, b.stream, b.slot, b.segs)
	})
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
	w.dropLags(sn)
	w.states = append(w.states, pair{sn.g.stateKey(), endState(sn.state, sn.dir, sn.g.stateKey())})
	return nil
}

// collect makes segments of the frozen rows that their series still keep, by slot and in order of
// columns: a series after the other, each in the order its rows came.
func (sn *snapshot) collect() []newBlock {
	g := sn.g
	p := placing{sn: sn, at: make(map[slotAt]int), latest: make([]int, len(g.c.streams))}
	var mine []pending.Piece
	for i := range sn.alive {
		if !sn.alive[i] {
			continue
		}
		mine = mine[:0]
		for j := len(sn.frozen) - 1; j >= 0; j-- {
			sn.frozen[j].Each(i, func(e pending.Piece) bool {
				mine = append(mine, e)
				return true
			})
		}
		for j := len(mine) - 1; j >= 0; j-- {
			p.place(i, &mine[j])
		}
	}
	slices.SortFunc(p.blocks, compareBlocks)
	if g.c.sources > 1 {
		for i := range p.blocks {
			slices.SortStableFunc(p.blocks[i].segs, rowblock.CompareStrips)
		}
	}
	return p.blocks
}

func compareBlocks(a, b newBlock) int {
	return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.slot, b.slot))
}

// findBlock returns the place of a slot among sorted blocks, -1: it has none.
func findBlock(blocks []newBlock, stream int, slot int64) int {
	if i, found := slices.BinarySearchFunc(blocks, newBlock{stream: stream, slot: slot}, compareBlocks); found {
		return i
	}
	return -1
}

type slotAt struct {
	stream int
	slot   int64
}

// A placing puts rows into the blocks of their slots.
type placing struct {
	sn     *snapshot
	blocks []newBlock
	at     map[slotAt]int
	latest []int // by stream: the block that was used last, and 1
}

// place adds the rows of a piece to the block of their slot, if the series still keeps them.
func (p *placing) place(i int, e *pending.Piece) {
	sn := p.sn
	c := sn.g.c
	stream := e.Column / c.sources
	st := &c.streams[stream]
	low := sn.lows[stream][i]
	k := fullIndex(e.First, low+st.Rows-1)
	if k+int64(e.Rows) <= low {
		return // gone before it was written
	}
	slot := rowblock.FloorDiv(k, st.Slot)
	b := p.block(stream, slot)
	b.segs = append(b.segs, rowblock.Strip{
		Stream: stream, Slot: slot, Column: i*c.sources + e.Column%c.sources,
		Skip: int(k - slot*st.Slot), Rows: e.Rows, Data: e.Code,
	})
}

// block returns the block of a slot.
func (p *placing) block(stream int, slot int64) *newBlock {
	if n := p.latest[stream]; n > 0 && p.blocks[n-1].slot == slot {
		return &p.blocks[n-1]
	}
	n, ok := p.at[slotAt{stream, slot}]
	if !ok {
		n = len(p.blocks)
		b := newBlock{stream: stream, slot: slot}
		if n < 4*len(p.latest) { // most series have rows in it; where one fills many slots, they do not
			b.segs = make([]rowblock.Strip, 0, len(p.sn.alive))
		}
		p.blocks = append(p.blocks, b)
		p.at[slotAt{stream, slot}] = n
	}
	p.latest[stream] = n + 1
	return &p.blocks[n]
}

// windowSlot is the oldest slot that the newest series still keeps rows of.
func (sn *snapshot) windowSlot(stream int) int64 {
	st := &sn.g.c.streams[stream]
	return rowblock.FloorDiv(sn.last[stream]-st.Rows+1, st.Slot)
}

// putBlock adds a sub-block to a slot.
func (w *checkpointTx) putBlock(sn *snapshot, stream int, slot int64, segs []rowblock.Strip) {
	if len(segs) == 0 {
		return
	}
	e := sn.dir.Slot(stream, slot)
	k := rowblock.Key(nil, sn.g.c.id, stream, slot, e.Hi, sn.g.id)
	e.Hi++
	from := len(w.buf)
	w.buf = rowblock.Append(w.buf, k, segs)
	w.puts = append(w.puts, pair{k, w.buf[from:len(w.buf):len(w.buf)]})
}

func (w *checkpointTx) remove(g *group, stream int, e rowblock.SubBlocks) {
	for sub := e.Lo; sub < e.Hi; sub++ {
		w.deletes = append(w.deletes, rowblock.Key(nil, g.c.id, stream, e.Slot, sub, g.id))
	}
}

// expire deletes the slots of a stream that have left the window. A slot with damage stays as long
// as a series that has fallen behind may have rows in it.
func (w *checkpointTx) expire(sn *snapshot, stream int) {
	low := sn.windowSlot(stream)
	sn.dir.Slots[stream] = slices.DeleteFunc(sn.dir.Slots[stream], func(e rowblock.SubBlocks) bool {
		if e.Slot >= low || !w.rescue(sn, stream, e) {
			return false
		}
		w.remove(sn.g, stream, e)
		w.cp.failpoint("expire")
		return true
	})
}

// rescue moves what lagging series keep of a slot to the lag bucket, or says that damage keeps it
// from that.
func (w *checkpointTx) rescue(sn *snapshot, stream int, e rowblock.SubBlocks) bool {
	c := sn.g.c
	st := &c.streams[stream]
	end := (e.Slot + 1) * st.Slot
	behind := func(i int) bool { return i < len(sn.alive) && sn.alive[i] && sn.lows[stream][i] < end }
	if !slices.ContainsFunc(indices(len(sn.alive)), behind) {
		return true
	}
	segs, from := w.stored(sn, stream, e, behind)
	return from == e.Lo && w.addLags(sn, stream, e.Slot, segs)
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// stored returns the segments that the sub-blocks of a slot hold of the series that keep says,
// sorted. Sub-blocks up to a damaged one are left out: a copy would have a checksum that says it is
// whole. from is the first one behind the damage; e.lo if there is none.
func (w *checkpointTx) stored(sn *snapshot, stream int, e rowblock.SubBlocks, keep func(i int) bool) (segs []rowblock.Strip, from uint16) {
	from = e.Lo
	for sub := e.Lo; sub < e.Hi; sub++ {
		var err *DamageError
		if segs, err = w.subBlock(segs, sn, stream, e.Slot, sub, keep); err != nil {
			segs, from = segs[:0], sub+1
		}
	}
	slices.SortStableFunc(segs, rowblock.CompareStrips)
	return segs, from
}

// subBlock appends the segments of one sub-block to segs.
func (w *checkpointTx) subBlock(segs []rowblock.Strip, sn *snapshot, stream int, slot int64, sub uint16, keep func(i int) bool) ([]rowblock.Strip, *DamageError) {
	c := sn.g.c
	key := rowblock.Key(nil, c.id, stream, slot, sub, sn.g.id)
	v := w.rows.Get(key)
	if v == nil {
		return segs, w.cp.loader.damagedRows(w.tx, sn.g, stream, slot, sub, -1, damage.ErrMissing)
	}
	defer boltfile.DropPages(v)
	b, err := rowblock.Open(key, v)
	if err != nil {
		return segs, w.cp.loader.damagedRows(w.tx, sn.g, stream, slot, sub, -1, err)
	}
	for i := range b.Columns {
		if !keep(i / c.sources) {
			continue
		}
		col, err := b.Column(i)
		if err == nil {
			err = rowblock.SplitColumn(col, &c.streams[stream], func(skip, rows int, data []byte) {
				segs = append(segs, rowblock.Strip{Stream: stream, Slot: slot, Column: i, Skip: skip, Rows: rows, Data: data})
			})
		}
		if err != nil {
			return segs, w.cp.loader.damagedRows(w.tx, sn.g, stream, slot, sub, i, err)
		}
	}
	return segs, nil
}

// merge makes one block of the sub-blocks of each slot that is due, new rows included.
func (w *checkpointTx) merge(sn *snapshot, stream int, blocks []newBlock) error {
	st := &sn.g.c.streams[stream]
	entries := sn.dir.Slots[stream]
	for i := range entries {
		e := &entries[i]
		var fresh *newBlock
		if j := findBlock(blocks, stream, e.Slot); j >= 0 {
			fresh = &blocks[j]
		}
		subs := int(e.Hi - e.Lo)
		complete := (e.Slot+1)*st.Slot-1 <= sn.last[stream]
		if fresh != nil {
			subs++
		}
		if subs < mergeFew || !complete && subs < mergeMany {
			continue
		}
		if complete && subs < mergeMany && fresh != nil && w.tiny(sn.g, stream, *e, fresh) {
			continue
		}
		segs, from := w.stored(sn, stream, *e, func(i int) bool { return i < len(sn.alive) && sn.alive[i] })
		if from != e.Lo && int(e.Hi-from) < mergeMany {
			continue // what stands before the damage must stay: there is little to gain
		}
		if fresh != nil {
			segs = append(segs, fresh.segs...)
			slices.SortStableFunc(segs, rowblock.CompareStrips)
			fresh.merged = true
		}
		w.remove(sn.g, stream, rowblock.SubBlocks{Slot: e.Slot, Lo: from, Hi: e.Hi})
		switch {
		case from != e.Lo:
			e.Hi = from // the merged block takes the place of the first that goes
		case e.Hi >= maxSub:
			e.Lo, e.Hi = 0, 0 // the numbers from 0 are long free again
		default:
			e.Lo = e.Hi
		}
		var err error
		if segs, err = rowblock.Join(segs, st); err != nil {
			return err
		}
		w.putBlock(sn, stream, e.Slot, segs)
		w.cp.failpoint("merge")
	}
	sn.dir.Slots[stream] = slices.DeleteFunc(entries, func(e rowblock.SubBlocks) bool { return e.Lo == e.Hi && !waits(blocks, stream, e.Slot) })
	return nil
}

// waits says whether new rows of a slot are still to be put.
func waits(blocks []newBlock, stream int, slot int64) bool {
	i := findBlock(blocks, stream, slot)
	return i >= 0 && !blocks[i].merged
}

// tiny says whether new rows are too few to write a complete slot once more.
func (w *checkpointTx) tiny(g *group, stream int, e rowblock.SubBlocks, fresh *newBlock) bool {
	size := 0
	for i := range fresh.segs {
		size += len(fresh.segs[i].Data) + 8
	}
	return size*mergeTiny < len(w.rows.Get(rowblock.Key(nil, g.c.id, stream, e.Slot, e.Lo, g.id)))
}

// A pair is a key and its value.
type pair struct{ k, v []byte }

// putSorted puts pairs in the order of their keys.
func putSorted(b *boltfile.Bucket, pairs []pair) error {
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.k, b.k) })
	for _, p := range pairs {
		if err := b.Put(p.k, p.v); err != nil {
			return err
		}
	}
	return nil
}

// keysOf are the keys of pairs.
func keysOf(pairs []pair) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range pairs {
			if !yield(pairs[i].k) {
				return
			}
		}
	}
}

// write puts and deletes in order of keys.
func (w *checkpointTx) write() error {
	for _, part := range []struct {
		bucket []byte
		keys   iter.Seq[[]byte]
	}{
		{bucketState, keysOf(w.states)},
		{bucketRows, keysOf(w.puts)},
		{bucketRows, slices.Values(w.deletes)},
		{bucketLag, func(yield func([]byte) bool) {
			for k := range w.lags {
				if !yield([]byte(k)) {
					return
				}
			}
		}},
	} {
		if err := w.tx.SoundNear(part.bucket, part.keys); err != nil {
			return err
		}
	}
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
		lags = append(lags, pair{[]byte(k), record.AppendSum(v, bucketLag, []byte(k))})
	}
	return putSorted(w.lag, lags)
}
