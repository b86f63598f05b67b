package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// Rows that cannot be read come from the log where it has all of a series. The log is replayed from
// the record that made the series up to the position that the group's state stands for, into a
// stand-in of the group. What is in the stand-in then is proved by the state record, which is
// sound: the two states must be the same, bit for bit.

// A hurtGroup is what cannot be read of a group whose state is sound.
type hurtGroup struct {
	slots  map[slotAt]bool           // row blocks are damaged or missing
	lags   [][]byte                  // keys of damaged records in the bucket lag
	counts map[int]rowblock.LagCount // by index: the records that a series lacks some of
	held   []bool                    // by index: the state has the series
	unfit  map[int]bool              // members that the log cannot make anew
}

// A slotAt names a slot of a stream.
type slotAt struct {
	stream int
	slot   int64
}

// anyState says whether a state is made anew.
func (b *rebuild) anyState() bool { return len(b.groups) > 0 }

// mendRows makes rows anew that cannot be read, of groups whose state is sound.
func (b *rebuild) mendRows(ctx context.Context) error {
	if err := b.findHurt(ctx); err != nil || len(b.groups) == 0 {
		return err
	}
	b.readLog()
	for _, lg := range b.groups {
		b.load(lg)
	}
	if err := b.replay(); err != nil {
		return err
	}
	return b.patch()
}

// findHurt looks for rows that cannot be read in groups whose state is sound.
func (b *rebuild) findHurt(ctx context.Context) error {
	hurt := make(map[groupID]*hurtGroup)
	at := func(id groupID) *hurtGroup {
		if hurt[id] == nil {
			hurt[id] = &hurtGroup{slots: make(map[slotAt]bool), counts: make(map[int]rowblock.LagCount), unfit: make(map[int]bool)}
		}
		return hurt[id]
	}
	_, err := b.s.checkWith(ctx, &mender{
		fix: func(f fix, _ string) {
			switch {
			case f.value == nil: // nothing refers to it
			case bytes.Equal(f.bucket, bucketRows):
				class, stream, slot, _, group, _ := rowblock.ParseKey(f.key)
				at(groupID{class, group}).slots[slotAt{stream, slot}] = true
			default:
				h := at(groupID{binary.BigEndian.Uint32(f.key), binary.BigEndian.Uint32(f.key[4:])})
				h.lags = append(h.lags, f.key)
			}
		},
		lag: func(id groupID, want, _ rowblock.LagCount, _ string) { at(id).counts[int(want.Index)] = want },
	})
	if err != nil {
		return err
	}
	return b.s.db.View(nil, func(tx *boltfile.Tx) error {
		for id, h := range hurt {
			if c := b.s.catalogue.class(id.class); c == nil || int(id.group) >= len(*c.groups.Load()) {
				continue // of no series
			}
			stored := b.stored(tx, id)
			if stored == nil {
				continue
			}
			lg := b.lost(id)
			lg.g = &group{c: stored.c, id: stored.id, shard: lg.g.shard}
			lg.hurt, lg.until = h, stored.pos
			h.held = make([]bool, stored.n)
			for i := range stored.n {
				h.held[i] = stored.alive(i)
				if rec := b.recordOf(tx, stored.ref(i)); rec != nil && stored.alive(i) {
					lg.members[i] = rec
					h.unfit[i] = stored.refused[i] != nil || rec.def != stored.defs[i]
				}
			}
			stored.unload()
		}
		return nil
	})
}

// recordOf is the record of a series that the log has or the database; nil: it is dropped, or there
// is none.
func (b *rebuild) recordOf(tx *boltfile.Tx, ref Ref) *seriesRecord {
	if rec, changed := b.s.catalogue.changedRecord(ref); changed {
		return rec
	}
	rec, _ := b.s.catalogue.recordIn(tx, ref) // a damaged one is none
	return rec
}

// stored reads the state record of a group; nil: it cannot be read.
func (b *rebuild) stored(tx *boltfile.Tx, id groupID) *group {
	c := b.s.catalogue.class(id.class)
	if c == nil {
		return nil
	}
	g := &group{c: c, id: id.group}
	v := tx.Bucket(bucketState).Get(g.stateKey())
	if v == nil || g.decodeState(v) != nil {
		g.unload()
		return nil
	}
	return g
}

// patch puts rows that the log has in the place of those that cannot be read.
func (b *rebuild) patch() error {
	for _, id := range slices.SortedFunc(maps.Keys(b.groups), groupID.compare) {
		lg := b.groups[id]
		if lg.hurt == nil {
			continue
		}
		if err := b.s.db.View(nil, func(tx *boltfile.Tx) error {
			if stored := b.stored(tx, id); stored != nil {
				b.prove(lg, stored)
				b.patchGroup(tx, lg, stored.dir)
				stored.unload()
			}
			return nil
		}); err != nil {
			return err
		}
		lg.g.pend.Free()
		for i := range lg.g.held {
			lg.g.dropHeld(i)
		}
		lg.g.unload()
		if err := b.apply(); err != nil {
			return err
		}
	}
	return nil
}

// prove leaves only series in whole whose stand-in has the state that is stored.
func (b *rebuild) prove(lg *lostGroup, stored *group) {
	g, c := lg.g, lg.g.c
	for i := range lg.whole {
		x, y := g.state(i), stored.state(i)
		from, to := i*c.sources, (i+1)*c.sources
		if !g.alive(i) || g.defs[i] != stored.defs[i] || !slices.Equal(x.W, y.W) || !slices.Equal(x.Text, y.Text) ||
			!slices.Equal(g.ctx[from:to], stored.ctx[from:to]) || !slices.Equal(g.ctxTag[from:to], stored.ctxTag[from:to]) ||
			!g.sameBuffered(stored, i) {
			delete(lg.whole, i)
		}
	}
}

// sameBuffered reports whether the buffers of a series hold as many rows as those of o do.
func (g *group) sameBuffered(o *group, i int) bool {
	for col := range g.c.cols {
		x, _ := g.buffered(i, col)
		if y, _ := o.buffered(i, col); x != y {
			return false
		}
	}
	return true
}

// patchGroup makes row blocks and records of the bucket lag of one group anew.
func (b *rebuild) patchGroup(tx *boltfile.Tx, lg *lostGroup, dir *rowblock.Directory) {
	g := lg.g
	if len(lg.whole) == 0 {
		return // all is told and made unknown later
	}
	for i := range g.n {
		if !lg.whole[i] {
			g.flags[i] = 0
		}
	}
	sn := &snapshot{g: g, frozen: []*pending.Rows{&g.pend}}
	g.windows(sn)
	blocks := new(checkpointScratch).collect(sn)
	find := func(stream int, slot int64) []rowblock.Strip {
		if b := rowblock.FindBlock(blocks, stream, slot); b != nil {
			return b.Strips
		}
		return nil
	}
	for at := range lg.hurt.slots {
		e := dir.Between(at.stream, at.slot, at.slot)
		if len(e) != 1 {
			continue
		}
		b.patchSlot(tx, lg, at, e[0], find(at.stream, at.slot))
	}
	for _, k := range lg.hurt.lags {
		stream, slot, column := int(binary.BigEndian.Uint16(k[10:])), lagSlot(k), lagColumn(k)
		if !lg.whole[column/g.c.sources] || len(dir.Between(stream, slot, slot)) > 0 {
			continue
		}
		var v []byte
		for _, sg := range find(stream, slot) {
			if sg.Column == column {
				v = sg.Append(v)
			}
		}
		b.put(bucketLag, k, record.AppendSum(v, bucketLag, k))
		b.remade = append(b.remade, remadeRows{lg, stream, slot, column / g.c.sources})
	}
	for i, want := range lg.hurt.counts {
		if lg.whole[i] {
			b.patchCount(tx, lg, dir, blocks, want)
		}
	}
}

// patchCount writes records of the bucket lag anew that are missing of one series, if they are just
// those that the directory has counted.
func (b *rebuild) patchCount(tx *boltfile.Tx, lg *lostGroup, dir *rowblock.Directory, blocks []rowblock.NewBlock, want rowblock.LagCount) {
	g, index := lg.g, int(want.Index)
	there := rowblock.LagCount{Index: want.Index}
	cur, first := tx.Bucket(bucketLag).Cursor(), lagKey(g, index*g.c.sources, 0, -1<<63)
	for k, _ := cur.Seek(first); len(k) == lagKeySize && bytes.Equal(k[:8], first[:8]) && lagColumn(k) < (index+1)*g.c.sources; k, _ = cur.Next() {
		there.Add(k)
	}
	missing := make(map[string][]byte)
	var remade []remadeRows
	for _, block := range blocks {
		for _, sg := range block.Strips {
			k := lagKey(g, sg.Column, block.Stream, block.Slot)
			if sg.Column/g.c.sources != index || len(dir.Between(block.Stream, block.Slot, block.Slot)) > 0 || tx.Bucket(bucketLag).Get(k) != nil {
				continue
			}
			if missing[string(k)] == nil {
				there.Add(k)
				remade = append(remade, remadeRows{lg, block.Stream, block.Slot, index})
			}
			missing[string(k)] = sg.Append(missing[string(k)])
		}
	}
	if there != want {
		return
	}
	for k, v := range missing {
		b.put(bucketLag, []byte(k), record.AppendSum(v, bucketLag, []byte(k)))
	}
	b.remade = append(b.remade, remade...)
}

// patchSlot writes the rows of a slot anew: those of the log, and those that can be read of all
// other series. The catalogue may not know these yet: a checkpoint writes states before it. The
// rows go into the first sub-block, and the others become empty, so that the directory stays what
// it is.
func (b *rebuild) patchSlot(tx *boltfile.Tx, lg *lostGroup, at slotAt, e rowblock.SubBlocks, strips []rowblock.Strip) {
	c := lg.g.c
	strips = slices.Clone(strips)
	for sub := e.Lo; sub < e.Hi; sub++ {
		k := rowblock.Key(nil, c.id, at.stream, at.slot, sub, lg.g.id)
		bl, err := rowblock.Open(k, tx.Bucket(bucketRows).Get(k))
		if err != nil {
			b.lostRows(lg, at.stream, at.slot, -1, err)
			continue
		}
		for i := range bl.Columns {
			if !lg.keeps(i / c.sources) {
				continue
			}
			if strips, err = bl.AppendStrips(strips, &c.streams[at.stream], at.stream, at.slot, i); err != nil {
				b.lostRows(lg, at.stream, at.slot, i, err)
			}
		}
	}
	slices.SortStableFunc(strips, rowblock.CompareStrips)
	for sub := e.Lo; sub < e.Hi; sub++ {
		k := rowblock.Key(nil, c.id, at.stream, at.slot, sub, lg.g.id)
		if sub == e.Lo && len(strips) > 0 {
			b.put(bucketRows, k, rowblock.Append(nil, k, strips))
		} else {
			b.put(bucketRows, k, rowblock.Empty(k))
		}
	}
	for _, i := range slices.Sorted(maps.Keys(lg.whole)) {
		b.remade = append(b.remade, remadeRows{lg, at.stream, at.slot, i})
	}
}

// remadeRows is rows of a series that come from the log.
type remadeRows struct {
	lg     *lostGroup
	stream int
	slot   int64
	index  int
}

// tellRemade tells of them, once the log has said what the series are called now.
func (b *rebuild) tellRemade(x remadeRows) {
	rec := b.now(x.lg, x.index)
	if rec == nil {
		return
	}
	var e DamageError
	loseSlot(&e, &x.lg.g.c.streams[x.stream], x.slot)
	b.r.done("series %q: %d s rows from %s to %s are made anew from the log", rec.path, e.Step, damage.TimeText(e.From), damage.TimeText(e.To))
}
