package core

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// stored reads the rows of the database.
func (f *fetcher) stored(g *group, w *wanted) error {
	c := g.c
	st := &c.streams[w.stream]
	if f.g != g || f.dir != w.dir || f.stream != w.stream || f.from != w.slotFrom || f.to != w.slotTo {
		f.g, f.dir, f.stream, f.from, f.to = g, w.dir, w.stream, w.slotFrom, w.slotTo
		if err := f.readBlocks(g, w); err != nil {
			f.g = nil // the next series of the group must not use half of the blocks
			return err
		}
	}
	if w.lagging.Records > 0 {
		if err := f.countLagged(g, w.index, w.lagging); err != nil {
			return err
		}
	}
	for j := range c.sources {
		p := f.window(j, w.from, w.to)
		column := w.index*c.sources + j
		for i := range f.blocks {
			b := &f.blocks[i]
			col, err := b.Column(column)
			if err == nil && len(col) > 0 {
				f.buf, err = rowblock.ReadColumn(col, st, b.slot, &p, f.buf)
			}
			if err == nil {
				continue
			}
			if err := f.unread(f.s.loader.damagedRows(&f.tx, g, w.stream, b.slot, b.sub, column, err)); err != nil {
				return err
			}
		}
		if w.lagging.Records > 0 {
			if err := f.lagged(g, column, w.stream, w.slotFrom, w.slotTo, &p); err != nil {
				return err
			}
		}
	}
	return nil
}

// unread returns the damage of rows, or nil if the store is one that Salvage reads.
func (f *fetcher) unread(e *DamageError) error {
	if f.s.options.salvage == nil {
		return e
	}
	f.s.options.salvage.unread(e)
	return nil
}

// readBlocks finds the blocks of the slots that w names, and checks their heads.
func (f *fetcher) readBlocks(g *group, w *wanted) error {
	f.blocks = f.blocks[:0]
	cur := f.tx.Bucket(bucketRows).Cursor()
	for _, e := range w.dir.Between(w.stream, w.slotFrom, w.slotTo) {
		for sub := e.Lo; sub < e.Hi; sub++ {
			f.key = rowblock.Key(f.key[:0], g.c.id, w.stream, e.Slot, sub, g.id)
			k, v := cur.Seek(f.key)
			b, err := rowblock.Block{}, damage.ErrMissing
			if bytes.Equal(k, f.key) {
				b, err = rowblock.OpenIn(f.key, v)
			}
			if err == nil {
				f.blocks = append(f.blocks, slotBlock{b, e.Slot, sub})
			} else if err := f.unread(f.s.loader.damagedRows(&f.tx, g, w.stream, e.Slot, sub, -1, err)); err != nil {
				return err
			}
		}
	}
	return nil
}

// countLagged checks that the lag bucket has as many records of a series as the directory says.
func (f *fetcher) countLagged(g *group, index int, want rowblock.LagCount) error {
	found, first, cur := rowblock.LagCount{Index: want.Index}, index*g.c.sources, f.tx.Bucket(bucketLag).Cursor()
	key := lagKey(g, first, 0, -1<<63)
	for k, _ := cur.Seek(key); len(k) == lagKeySize && bytes.Equal(k[:8], key[:8]) && lagColumn(k) < first+g.c.sources; k, _ = cur.Next() {
		found.Add(k)
	}
	if found == want {
		return nil
	}
	e := damage.InValue(bucketLag, key[:lagColumnSize], fmt.Errorf("%d records of rows, not the %d that were written", found.Records, want.Records))
	e.Series = f.s.catalogue.pathOf(&f.tx, g.c, g.id, index)
	f.s.damage.Note(e)
	return f.unread(e)
}

// lagged reads the rows of a lagging series from the lag bucket.
func (f *fetcher) lagged(g *group, column, stream int, from, to int64, p *rowblock.Target) error {
	st := &g.c.streams[stream]
	cur := f.tx.Bucket(bucketLag).Cursor()
	key := lagKey(g, column, stream, from)
	for k, v := cur.Seek(key); len(k) == lagKeySize && bytes.Equal(k[:12], key[:12]); k, v = cur.Next() {
		slot := int64(binary.BigEndian.Uint64(k[12:]) ^ 1<<63)
		if slot > to {
			break
		}
		rows, err := record.CutSum(v, bucketLag, k)
		if err == nil {
			f.buf, err = rowblock.ReadColumn(rows, st, slot, p, f.buf)
		}
		if err == nil {
			continue
		}
		if err := f.unread(f.s.loader.damagedLag(&f.tx, g, column, stream, slot, err)); err != nil {
			return err
		}
	}
	return nil
}
