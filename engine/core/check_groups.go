package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
)

// groups decodes every state record.
func (c *checker) groups() {
	cur := c.tx.Bucket(bucketState).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := "state " + keyHex(k)
		if len(k) != 8 {
			c.add(where, "key of %d bytes", len(k))
			continue
		}
		cl := c.s.catalogue.class(binary.BigEndian.Uint32(k))
		if cl == nil {
			c.add(where, "no such class")
			continue
		}
		g := &group{c: cl, id: binary.BigEndian.Uint32(k[4:])}
		id := groupID{cl.id, g.id}
		if err := g.decodeState(v); err != nil {
			c.add(where, "%v: the last readings, unfinished rows and the list of row blocks of %s are lost", err, c.lost(cl, g.id))
			c.broken[id] = true
			delete(c.members, id)
			g.unload()
			continue
		}
		delete(c.members, id)
		c.group(where, g)
		g.unload()
	}
	for id := range c.members {
		c.broken[id] = true
		c.add(fmt.Sprintf("state %x", groupKey(nil, id.class, id.group)), "is missing: the last readings, unfinished rows and the list of row blocks of %s are lost",
			c.lost(c.s.catalogue.class(id.class), id.group))
	}
}

// keyHex shows a key of numbers.
func keyHex(k []byte) string { return fmt.Sprintf("%x", k[:min(len(k), 64)]) }

// lost names the series of a group, the first few by their paths.
func (c *checker) lost(cl *class, group uint32) string {
	var paths []string
	n, first := 0, cl.refAt(group, 0)
	cur := c.tx.Bucket(bucketSeries).Cursor()
	for k, v := cur.Seek(refKey(first)); len(k) == 8 && Ref(binary.BigEndian.Uint64(k)) < first+1<<cl.shift; k, v = cur.Next() {
		if c.s.catalogue.removed(Ref(binary.BigEndian.Uint64(k))) {
			continue
		}
		n++
		if rec := c.nowRecord(k, v); rec != nil && len(paths) < 3 {
			paths = append(paths, fmt.Sprintf("%q", rec.path))
		}
	}
	if n > len(paths) {
		return fmt.Sprintf("%s and %d others (references %#x to %#x)", strings.Join(paths, ", "), n-len(paths), uint64(first), uint64(first+1<<cl.shift-1))
	}
	if n == 0 {
		return "no series that is there"
	}
	return strings.Join(paths, ", ")
}

// nowRecord is a record of a series, by what the database does not hold yet of it; nil: it is
// dropped, or damaged.
func (c *checker) nowRecord(k, v []byte) *seriesRecord {
	if len(k) == 8 {
		if rec, changed := c.s.catalogue.changedRecord(Ref(binary.BigEndian.Uint64(k))); changed {
			return rec
		}
	}
	return c.record(k, v)
}

// lostRows says which rows of which series a block or record held.
func (c *checker) lostRows(cl *class, group uint32, stream int, slot int64, column int) string {
	var e DamageError
	loseSlot(&e, &cl.streams[stream], slot)
	what := fmt.Sprintf("%d s rows from %s to %s", e.Step, damage.TimeText(e.From), damage.TimeText(e.To))
	if column < 0 {
		return what + " of " + c.lost(cl, group)
	}
	ref := cl.refAt(group, column/cl.sources)
	rec := c.nowRecord(refKey(ref), c.tx.Bucket(bucketSeries).Get(refKey(ref)))
	if rec == nil {
		return fmt.Sprintf("%s of series %#x, which the catalogue does not have", what, uint64(ref))
	}
	m := c.s.catalogue.definition(rec.def).m
	if m == nil || m.Shape() != cl.shape {
		return fmt.Sprintf("%s of %q", what, rec.path)
	}
	return fmt.Sprintf("%s %s of data source %s of %q", cfsOf(m, stream), what, m.Definition().Sources[column%cl.sources].Name, rec.path)
}

// cfsOf names the consolidation functions of the archives of a stream.
func cfsOf(m *rra.Machine, stream int) string {
	var cfs []string
	for i, a := range m.Definition().Archives {
		if name := a.CF.String(); m.StreamOf(i) == stream && !slices.Contains(cfs, name) {
			cfs = append(cfs, name)
		}
	}
	return strings.Join(cfs, ", ")
}

// group compares one state record with catalogue and rows.
func (c *checker) group(where string, g *group) {
	if g.pos > c.top {
		c.add(where, "stands for log position %d, the log and the store end at %d", g.pos, c.top)
	}
	for i := range g.n {
		c.member(where, g, i)
	}
	for i, err := range g.refused {
		c.add(where, "series %#x: %v", uint64(g.ref(i)), errors.Unwrap(err))
	}
	for _, e := range g.dir.Lags {
		c.lags[string(binary.BigEndian.AppendUint16(g.stateKey(), e.Index))] = e
	}
	for st, entries := range g.dir.Slots {
		for _, e := range entries {
			for sub := e.Lo; sub < e.Hi; sub++ {
				c.blocks[string(rowblock.Key(nil, g.c.id, st, e.Slot, sub, g.id))] = true
			}
		}
	}
}

// member compares one series of a state record with the catalogue.
func (c *checker) member(where string, g *group, i int) {
	ref := g.ref(i)
	raw := c.tx.Bucket(bucketSeries).Get(refKey(ref))
	if g.pos <= c.pos && (raw != nil) != g.alive(i) {
		c.add(where, "series %#x: in the catalogue %v, in the group %v", uint64(ref), raw != nil, g.alive(i))
	}
	if !g.alive(i) {
		return
	}
	if g.defs[i] == 0 || int(g.defs[i]) > len(*c.s.catalogue.defs.Load()) || g.definition(i).class != g.c {
		c.add(where, "series %#x: definition %d is not of its class", uint64(ref), g.defs[i])
		return
	}
	if raw == nil {
		return
	}
	if rec := c.record(refKey(ref), raw); rec != nil && rec.def != g.defs[i] {
		c.add(where, "series %#x: definition %d, in the catalogue %d", uint64(ref), g.defs[i], rec.def)
	}
}

// rows checks every block, and that directories and blocks name each other.
func (c *checker) rows() {
	cur := c.tx.Bucket(bucketRows).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := "rows " + keyHex(k)
		class, stream, slot, _, group, ok := rowblock.ParseKey(k)
		cl := c.s.catalogue.class(class)
		if !ok || cl == nil || stream >= len(cl.streams) {
			c.add(where, "no such class or stream")
			continue
		}
		if !c.blocks[string(k)] && !c.broken[groupID{class, group}] {
			c.add(where, "no directory names it")
			continue
		}
		delete(c.blocks, string(k))
		b, err := rowblock.Open(k, v)
		if err != nil {
			lost := c.lostRows(cl, group, stream, slot, -1)
			c.add(where, "%v: %s are lost", err, lost)
			continue
		}
		c.block(k, where, &b, cl, group, stream, slot)
	}
	for k := range c.blocks {
		where := "rows " + keyHex([]byte(k))
		class, stream, slot, _, group, _ := rowblock.ParseKey([]byte(k))
		lost := c.lostRows(c.s.catalogue.class(class), group, stream, slot, -1)
		c.add(where, "%v: %s are lost", damage.ErrMissing, lost)
	}
}

func (c *checker) block(key []byte, where string, b *rowblock.Block, cl *class, group uint32, stream int, slot int64) {
	if b.Columns > cl.sources<<cl.shift {
		c.add(where, "%d columns", b.Columns)
		return
	}
	for i := range b.Columns {
		col, err := b.Column(i)
		if err == nil {
			err = rowblock.SplitColumn(col, &cl.streams[stream], func(int, int, []byte) {})
		}
		if err != nil {
			lost := c.lostRows(cl, group, stream, slot, i)
			c.add(where, "column %d: %v: %s are lost", i, err, lost)
		}
	}
	if b.Size() != b.Len() {
		c.add(where, "%d bytes, not %d", b.Len(), b.Size())
	}
}

// lag checks the rows of series that have fallen behind.
func (c *checker) lag() {
	found := make(map[string]rowblock.LagCount)
	cur := c.tx.Bucket(bucketLag).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		where := "lag " + keyHex(k)
		if len(k) != lagKeySize {
			c.add(where, "key of %d bytes", len(k))
			continue
		}
		cl := c.s.catalogue.class(binary.BigEndian.Uint32(k))
		stream := int(binary.BigEndian.Uint16(k[10:]))
		if cl == nil || stream >= len(cl.streams) {
			c.add(where, "no such class or stream")
			continue
		}
		rows, err := record.CutSum(v, bucketLag, k)
		if err == nil {
			err = rowblock.SplitColumn(rows, &cl.streams[stream], func(int, int, []byte) {})
		}
		group := binary.BigEndian.Uint32(k[4:])
		index := uint16(lagColumn(k) / cl.sources)
		name := string(binary.BigEndian.AppendUint16(bytes.Clone(k[:8]), index))
		if c.lags[name].Records == 0 && !c.broken[groupID{cl.id, group}] {
			c.add(where, "no directory names it")
			continue
		}
		if err != nil {
			lost := c.lostRows(cl, group, stream, lagSlot(k), lagColumn(k))
			c.add(where, "%v: %s are lost", err, lost)
		}
		e := found[name]
		e.Index = index
		e.Add(k)
		found[name] = e
	}
	for name, want := range c.lags {
		got := found[name]
		got.Index = want.Index
		if got == want {
			continue
		}
		what := fmt.Sprintf("series %d has %d records of rows in lag, not the %d that were written", want.Index, got.Records, want.Records)
		c.add(fmt.Sprintf("state %x", name[:8]), "%s", what)
	}
}
