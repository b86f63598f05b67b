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
	slots map[slotAt]bool // row blocks are damaged or missing
	lags  [][]byte        // keys of records in the bucket lag
	held  []bool          // by index: the state has the series
	unfit map[int]bool    // members that the log cannot make anew
}

// anyState says whether a state is made anew.
func (b *rebuild) anyState() bool {
	for _, lg := range b.groups {
		if lg.hurt == nil {
			return true
		}
	}
	return false
}

// findHurt looks for rows that cannot be read in groups whose state is sound.
func (b *rebuild) findHurt(ctx context.Context) error {
	hurt := make(map[groupID]*hurtGroup)
	at := func(id groupID) *hurtGroup {
		if hurt[id] == nil {
			hurt[id] = &hurtGroup{slots: make(map[slotAt]bool), unfit: make(map[int]bool)}
		}
		return hurt[id]
	}
	_, err := b.s.checkWith(ctx, func(f fix, _ string) {
		if bytes.Equal(f.bucket, bucketRows) && f.value != nil {
			class, stream, slot, _, group, _ := rowblock.ParseKey(f.key)
			at(groupID{class, group}).slots[slotAt{stream, slot}] = true
		}
		if bytes.Equal(f.bucket, bucketLag) {
			h := at(groupID{binary.BigEndian.Uint32(f.key), binary.BigEndian.Uint32(f.key[4:])})
			h.lags = append(h.lags, f.key)
		}
	})
	if err != nil {
		return err
	}
	return b.s.db.View(nil, func(tx *boltfile.Tx) error {
		for id, h := range hurt {
			if b.groups[id] != nil {
				continue
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
				k := refKey(makeRef(id.class, id.group<<stored.c.shift+uint32(i)))
				v := tx.Bucket(bucketSeries).Get(k)
				if v == nil || !stored.alive(i) {
					continue
				}
				if rec, err := b.s.catalogue.storedRecord(k, v); err == nil {
					lg.members[i] = rec
					h.unfit[i] = stored.refused[i] != nil || rec.def != stored.defs[i]
				}
			}
			stored.unload()
		}
		return nil
	})
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
			!slices.Equal(g.bufN[i*c.cols:(i+1)*c.cols], stored.bufN[i*c.cols:(i+1)*c.cols]) {
			delete(lg.whole, i)
		}
	}
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
	blocks := sn.collect()
	find := func(stream int, slot int64) []rowblock.Strip {
		if i := findBlock(blocks, stream, slot); i >= 0 {
			return blocks[i].segs
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
}

// patchSlot writes the rows of a slot anew: those of the log, and those that can be read of all
// other series. The catalogue may not know these yet: a checkpoint writes states before it. The
// rows go into the first sub-block, and the others become empty, so that the directory stays what
// it is.
func (b *rebuild) patchSlot(tx *boltfile.Tx, lg *lostGroup, at slotAt, e rowblock.SubBlocks, segs []rowblock.Strip) {
	c := lg.g.c
	segs = slices.Clone(segs)
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
			from := len(segs)
			col, err := bl.Column(i)
			if err == nil {
				err = rowblock.SplitColumn(col, &c.streams[at.stream], func(skip, rows int, data []byte) {
					segs = append(segs, rowblock.Strip{Stream: at.stream, Slot: at.slot, Column: i, Skip: skip, Rows: rows, Data: data})
				})
			}
			if err != nil {
				segs = segs[:from]
				b.lostRows(lg, at.stream, at.slot, i, err)
			}
		}
	}
	slices.SortStableFunc(segs, rowblock.CompareStrips)
	for sub := e.Lo; sub < e.Hi; sub++ {
		k := rowblock.Key(nil, c.id, at.stream, at.slot, sub, lg.g.id)
		if sub == e.Lo && len(segs) > 0 {
			b.put(bucketRows, k, rowblock.Append(nil, k, segs))
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
