package core

import (
	"bytes"
	"errors"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// A checkpoint's transaction changes the blocks of a group in three ways:
//
//   - New rows of a slot become one more sub-block of the slot.
//   - A slot whose last row has come, or that has many sub-blocks, is merged into one sub-block.
//   - A slot that has left the window of the group's newest series loses the rows of all series
//     whose own windows have passed it. It stays as long as a series that lags keeps rows of it.

// A checkpointTx gathers what one transaction of a checkpoint writes.
type checkpointTx struct {
	cp           *checkpointer
	tx           *boltfile.Tx
	rows         *boltfile.Bucket
	puts, states []pair // a nil value deletes
	*checkpointScratch
}

// A checkpointScratch is memory that the transactions of one checkpoint use one after the other.
// The checkpoint lets go of it at its end: the next one may be far away.
type checkpointScratch struct {
	buf      []byte // blocks; values in puts point into it or its predecessors
	arranger rowblock.Arranger
	pieces   []pending.Piece // of one series
}

// add decides what the group of a snapshot writes.
func (w *checkpointTx) add(sn *snapshot) error {
	blocks := w.collect(sn)
	for st := range sn.g.c.streams {
		// First: merge drops the slots that expire has left empty.
		if err := errors.Join(w.expire(sn, st), w.merge(sn, st, blocks)); err != nil {
			return err
		}
	}
	sn.dir.Living = sn.living
	for i := range blocks {
		if b := &blocks[i]; !b.Merged {
			w.queueBlock(sn, b.Stream, b.Slot, b.Strips)
		}
	}
	w.states = append(w.states, pair{sn.g.stateKey(), endState(sn.state, sn.dir, sn.g.stateKey())})
	return nil
}

// collect makes blocks of the frozen rows that their series still keep. They hold until the next
// call.
func (s *checkpointScratch) collect(sn *snapshot) []rowblock.NewBlock {
	c := sn.g.c
	a, mine := &s.arranger, s.pieces
	a.Reset(len(c.streams), len(sn.alive), c.sources)
	for i := range sn.alive {
		if !sn.alive[i] {
			continue
		}
		mine = mine[:0]
		for j := len(sn.frozen) - 1; j >= 0; j-- {
			sn.frozen[j].Each(i, 0, c.cols, func(e pending.Piece) bool {
				mine = append(mine, e)
				return true
			})
		}
		for j := len(mine) - 1; j >= 0; j-- {
			sn.place(a, i, &mine[j])
		}
	}
	s.pieces = mine[:0]
	return a.Blocks()
}

// place adds the rows of a piece of series i to the block of their slot, if the series still keeps
// them.
func (sn *snapshot) place(a *rowblock.Arranger, i int, e *pending.Piece) {
	c := sn.g.c
	stream := e.Column / c.sources
	st := &c.streams[stream]
	low := sn.lows[stream][i]
	k := fullIndex(e.First, low+st.Rows-1)
	if k+int64(e.Rows) <= low {
		return // the window passed these rows before they were written
	}
	slot := rowblock.FloorDiv(k, st.Slot)
	sn.dir.Begin(i, (k-1)*st.Span)
	a.Add(stream, slot, rowblock.Strip{
		Column: i*c.sources + e.Column%c.sources, Skip: int(k - slot*st.Slot), Rows: e.Rows, Data: e.Code,
	})
}

// windowSlot returns the oldest slot in which the newest series keeps rows.
func (sn *snapshot) windowSlot(stream int) int64 {
	st := &sn.g.c.streams[stream]
	return rowblock.FloorDiv(sn.last[stream]-st.Rows+1, st.Slot)
}

// blockRoom is more than most blocks take, in bytes.
const blockRoom = 64 << 10

// queueBlock adds a sub-block to a slot; write puts it into the database.
func (w *checkpointTx) queueBlock(sn *snapshot, stream int, slot int64, strips []rowblock.Strip) {
	if len(strips) == 0 {
		return
	}
	e := sn.dir.Slot(stream, slot)
	k := rowblock.Key(nil, sn.g.c.id, stream, slot, e.Hi, sn.g.id)
	e.Hi++
	e.Pos = uint64(sn.pos)
	if cap(w.buf)-len(w.buf) < blockRoom { // to grow buf would copy what the puts keep alive
		w.buf = make([]byte, 0, 4*blockRoom)
	}
	from := len(w.buf)
	w.buf = rowblock.Append(w.buf, k, strips)
	w.puts = append(w.puts, pair{k, w.buf[from:len(w.buf):len(w.buf)]})
}

// keeps returns whether the series at an index keeps rows of a slot.
func (sn *snapshot) keeps(stream int, slot int64) func(i int) bool {
	end, lows := (slot+1)*sn.g.c.streams[stream].Slot, sn.lows[stream]
	return func(i int) bool { return i < len(sn.alive) && sn.alive[i] && lows[i] < end }
}

// expire takes what no series keeps out of the slots of a stream that have left the window. It
// looks at them when another slot has left it, or a series was dropped: there may be many that
// silent series keep.
func (w *checkpointTx) expire(sn *snapshot, stream int) error {
	low := sn.windowSlot(stream)
	if sn.dir.Lows[stream] == low && sn.dir.Living == sn.living {
		return nil
	}
	sn.dir.Lows[stream] = low
	for i := range sn.dir.Slots[stream] {
		e := &sn.dir.Slots[stream][i]
		if e.Slot >= low {
			break
		}
		if err := w.shed(sn, stream, e, sn.keeps(stream, e.Slot)); err != nil {
			return err
		}
	}
	return nil
}

// shed takes out of a slot what the series that keep selects do not keep. A slot with damage stays
// as it is, as long as one of them may have rows in it.
func (w *checkpointTx) shed(sn *snapshot, stream int, e *rowblock.SubBlocks, keep func(i int) bool) error {
	var strips []rowblock.Strip
	kept := false
	for i := range sn.alive {
		kept = kept || keep(i)
	}
	if kept {
		if !w.sheds(sn, stream, e, keep) {
			return nil
		}
		var from uint16
		if strips, from = w.stored(sn, stream, *e, keep); from != e.Lo {
			return nil
		}
	}
	w.cp.s.failpoint("expire")
	return w.rewrite(sn, stream, e, e.Lo, strips)
}

// sheds reports whether a slot holds rows of a series that keep does not select.
func (w *checkpointTx) sheds(sn *snapshot, stream int, e *rowblock.SubBlocks, keep func(i int) bool) bool {
	for sub := e.Lo; sub < e.Hi; sub++ {
		key := rowblock.Key(nil, sn.g.c.id, stream, e.Slot, sub, sn.g.id)
		b, _ := rowblock.Open(key, w.rows.Get(key)) // a damaged one has no columns
		for i := range b.Columns {
			if keep(i / sn.g.c.sources) {
				continue
			}
			if col, _ := b.Column(i); len(col) > 0 {
				return true
			}
		}
	}
	return false
}

// stored returns the strips that the sub-blocks of a slot hold, sorted, of the series that keep
// selects. It leaves out the sub-blocks up to a damaged one: a copy of damaged rows would get a
// checksum that says they are whole. from is the number of the first sub-block behind the damage,
// or e.Lo if nothing is damaged.
func (w *checkpointTx) stored(sn *snapshot, stream int, e rowblock.SubBlocks, keep func(i int) bool) (strips []rowblock.Strip, from uint16) {
	from = e.Lo
	for sub := e.Lo; sub < e.Hi; sub++ {
		var err *DamageError
		if strips, err = w.subBlock(strips, sn, stream, e.Slot, sub, keep); err != nil {
			strips, from = strips[:0], sub+1
		}
	}
	slices.SortStableFunc(strips, rowblock.CompareStrips)
	return strips, from
}

// subBlock appends the strips of one sub-block to strips.
func (w *checkpointTx) subBlock(strips []rowblock.Strip, sn *snapshot, stream int, slot int64, sub uint16, keep func(i int) bool) ([]rowblock.Strip, *DamageError) {
	c := sn.g.c
	key := rowblock.Key(nil, c.id, stream, slot, sub, sn.g.id)
	v := w.rows.Get(key)
	if v == nil {
		return strips, w.cp.s.loader.damagedRows(w.tx, sn.g, stream, slot, sub, -1, damage.ErrMissing)
	}
	defer boltfile.DropPages(v)
	b, err := rowblock.Open(key, v)
	if err != nil {
		return strips, w.cp.s.loader.damagedRows(w.tx, sn.g, stream, slot, sub, -1, err)
	}
	for i := range b.Columns {
		if !keep(i / c.sources) {
			continue
		}
		if strips, err = b.AppendStrips(strips, &c.streams[stream], i); err != nil {
			return strips, w.cp.s.loader.damagedRows(w.tx, sn.g, stream, slot, sub, i, err)
		}
	}
	return strips, nil
}

// merge makes one block of the sub-blocks of each slot that is due, new rows included.
func (w *checkpointTx) merge(sn *snapshot, stream int, blocks []rowblock.NewBlock) error {
	entries := sn.dir.Slots[stream]
	for i := range entries {
		if err := w.mergeSlot(sn, stream, &entries[i], rowblock.FindBlock(blocks, stream, entries[i].Slot)); err != nil {
			return err
		}
	}
	sn.dir.Slots[stream] = slices.DeleteFunc(entries, func(e rowblock.SubBlocks) bool {
		fresh := rowblock.FindBlock(blocks, stream, e.Slot)
		return e.Lo == e.Hi && (fresh == nil || fresh.Merged)
	})
	return nil
}

// mergeSlot merges one slot, if that is due. fresh is what the checkpoint adds to it, or nil.
func (w *checkpointTx) mergeSlot(sn *snapshot, stream int, e *rowblock.SubBlocks, fresh *rowblock.NewBlock) error {
	st := &sn.g.c.streams[stream]
	subs := int(e.Hi - e.Lo)
	complete := (e.Slot+1)*st.Slot-1 <= sn.last[stream]
	if fresh != nil {
		subs++
	}
	if !rowblock.MergeDue(subs, complete) {
		return nil
	}
	if complete && fresh != nil {
		first := w.rows.Get(rowblock.Key(nil, sn.g.c.id, stream, e.Slot, e.Lo, sn.g.id))
		if rowblock.MergeWasteful(subs, fresh.Strips, len(first)) {
			return nil
		}
	}
	strips, from := w.stored(sn, stream, *e, sn.keeps(stream, e.Slot))
	if !e.MergeRest(from) {
		return nil
	}
	if fresh != nil {
		strips = append(strips, fresh.Strips...)
		slices.SortStableFunc(strips, rowblock.CompareStrips)
		fresh.Merged = true
	}
	w.cp.s.failpoint("merge")
	return w.rewrite(sn, stream, e, from, strips)
}

// rewrite puts one sub-block of strips in the place of the sub-blocks from number from on.
func (w *checkpointTx) rewrite(sn *snapshot, stream int, e *rowblock.SubBlocks, from uint16, strips []rowblock.Strip) error {
	for sub := from; sub < e.Hi; sub++ {
		w.puts = append(w.puts, pair{k: rowblock.Key(nil, sn.g.c.id, stream, e.Slot, sub, sn.g.id)})
	}
	e.RemoveFrom(from)
	e.Pos = uint64(sn.pos)
	strips, err := rowblock.Join(strips, &sn.g.c.streams[stream])
	if err != nil {
		return err
	}
	w.queueBlock(sn, stream, e.Slot, strips)
	return nil
}

// write puts and deletes everything, in order of keys.
func (w *checkpointTx) write() error {
	inOrder := func(a, b pair) int { return bytes.Compare(a.k, b.k) }
	slices.SortFunc(w.states, inOrder)
	slices.SortStableFunc(w.puts, inOrder) // a merged sub-block may have the number of a deleted one
	return putAll(w.tx, bucketChange{bucketState, w.states, 0.9}, bucketChange{bucketRows, w.puts, 1})
}
