package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
)

// fixBytes is how much is gathered before it is written.
const fixBytes = 8 << 20

// put puts or deletes a value; apply writes it.
func (b *rebuild) put(bucket, k, v []byte) {
	b.fixes = append(b.fixes, fix{bucket, bytes.Clone(k), v})
	b.size += len(k) + len(v)
}

// apply writes what was put.
func (b *rebuild) apply() error {
	if len(b.fixes) == 0 {
		return nil
	}
	err := b.s.db.Update(nil, func(tx *boltfile.Tx) error { return putFixes(tx, b.fixes) }, nil)
	b.fixes, b.size = nil, 0
	return err
}

func putFixes(tx *boltfile.Tx, fixes []fix) error {
	for _, f := range fixes {
		var err error
		if f.value == nil {
			err = tx.Bucket(f.bucket).Delete(f.key)
		} else {
			err = tx.Bucket(f.bucket).Put(f.key, f.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sift keeps of the rows of lost groups those of series that the log has not all of.
func (b *rebuild) sift() error {
	for _, bucket := range [][]byte{bucketRows, bucketLag} {
		for from, more := []byte(nil), true; more; {
			more = false
			err := b.s.db.View(bucket, func(tx *boltfile.Tx) error {
				cur := tx.Bucket(bucket).Cursor()
				for k, v := cur.Seek(from); k != nil; k, v = cur.Next() {
					if b.size > fixBytes {
						from, more = bytes.Clone(k), true
						break
					}
					if bytes.Equal(bucket, bucketRows) {
						b.siftBlock(k, v)
					} else {
						b.siftLag(k, v)
					}
				}
				return nil
			})
			if err == nil {
				err = b.apply()
			}
			if err != nil {
				return err
			}
		}
	}
	for _, lg := range b.groups {
		b.closeGaps(lg) // of hurt ones nothing was gathered
	}
	return b.apply()
}

// siftBlock keeps what is needed of a row block.
func (b *rebuild) siftBlock(k, v []byte) {
	class, stream, slot, sub, group, ok := rowblock.ParseKey(k)
	if !ok {
		return
	}
	lg := b.groups[groupID{class, group}]
	if lg == nil || lg.hurt != nil || stream >= len(lg.g.c.streams) {
		return
	}
	c := lg.g.c
	subs := lg.slots[stream][slot]
	if subs == nil {
		subs = new(slotSubs)
		lg.slots[stream][slot] = subs
	}
	subs.found = append(subs.found, sub)
	bl, err := rowblock.Open(k, v)
	if err != nil {
		b.lostRows(lg, stream, slot, -1, err)
		b.put(bucketRows, k, nil)
		return
	}
	var strips []rowblock.Strip
	changed := bl.Size() != bl.Len()
	for i := range bl.Columns {
		index := i / c.sources
		if !lg.keeps(index) {
			changed = true
			continue
		}
		at := len(strips)
		if strips, err = bl.AppendStrips(strips, &c.streams[stream], stream, slot, i); err != nil {
			b.lostRows(lg, stream, slot, i, err)
			changed = true
		}
		for j := range strips[at:] {
			lg.sawRow(index, &c.streams[stream], slot, strips[at+j].Skip+strips[at+j].Rows-1)
		}
	}
	switch {
	case len(strips) == 0:
		b.put(bucketRows, k, nil)
		return
	case changed:
		b.put(bucketRows, k, rowblock.Append(nil, k, strips))
	}
	subs.kept = append(subs.kept, sub)
}

// siftLag keeps or deletes a record of the bucket lag.
func (b *rebuild) siftLag(k, v []byte) {
	if len(k) != lagKeySize {
		return
	}
	lg := b.groups[groupID{binary.BigEndian.Uint32(k), binary.BigEndian.Uint32(k[4:])}]
	stream := int(binary.BigEndian.Uint16(k[10:]))
	if lg == nil || lg.hurt != nil || stream >= len(lg.g.c.streams) {
		return
	}
	column, slot, st := lagColumn(k), lagSlot(k), &lg.g.c.streams[stream]
	index := column / lg.g.c.sources
	if !lg.keeps(index) {
		b.put(bucketLag, k, nil)
		return
	}
	newest := -1
	rows, err := record.CutSum(v, bucketLag, k)
	if err == nil {
		err = rowblock.SplitColumn(rows, st, func(skip, rows int, _ []byte) { newest = skip + rows - 1 })
	}
	if err != nil {
		b.lostRows(lg, stream, slot, column, err)
		b.put(bucketLag, k, nil)
		return
	}
	if newest >= 0 {
		lg.sawRow(index, st, slot, newest)
	}
	lg.lags.AddLag(index, k)
}

// keeps says whether stored rows of the series at an index are needed. A sound state may have
// series that the catalogue does not know yet.
func (lg *lostGroup) keeps(index int) bool {
	return (lg.hurt != nil || lg.members[index] != nil) && !lg.whole[index]
}

// indexes are those of the series that may have stored rows, in order.
func (lg *lostGroup) indexes() []int {
	if lg.hurt == nil {
		return slices.Sorted(maps.Keys(lg.members))
	}
	var out []int
	for i, held := range lg.hurt.held {
		if held {
			out = append(out, i)
		}
	}
	return out
}

// sawRow notes that a series has a row of a slot: it ended at or before the last update.
func (lg *lostGroup) sawRow(index int, st *rowblock.Geometry, slot int64, row int) {
	if end := slot*st.Slot + int64(row); end > 0 && end <= int64(MaxTime)/1e6/st.Span {
		lg.newest[index] = max(lg.newest[index], rra.Seconds(end*st.Span))
	}
}

// lostRows notes that rows of one column, or of all with column -1, cannot be read, if they are
// needed.
func (b *rebuild) lostRows(lg *lostGroup, stream int, slot int64, column int, err error) {
	b.unread = append(b.unread, unreadRows{lg, stream, slot, column, err})
}

// unreadRows is rows that could not be read.
type unreadRows struct {
	lg     *lostGroup
	stream int
	slot   int64
	column int // -1: all
	err    error
}

// tell tells of them, once the log has said what the series are called now.
func (b *rebuild) tell(u unreadRows) {
	var e DamageError
	lg := u.lg
	loseSlot(&e, &lg.g.c.streams[u.stream], u.slot)
	of := ""
	if u.column < 0 {
		of = b.names(lg)
	} else if rec := b.now(lg, u.column/lg.g.c.sources); rec != nil {
		of = fmt.Sprintf("%q", rec.path)
		if d := b.s.catalogue.definition(rec.def); !d.lost() {
			of = fmt.Sprintf("data source %s of %q", d.m.Definition().Sources[u.column%lg.g.c.sources].Name, rec.path)
		}
	}
	if of != "" {
		b.r.lose("%d s rows from %s to %s of %s: %v", e.Step, damage.TimeText(e.From), damage.TimeText(e.To), of, u.err)
	}
}

// now is the record of a series with what the log changes of it; nil: it is dropped.
func (b *rebuild) now(lg *lostGroup, index int) *seriesRecord {
	if rec, changed := b.s.catalogue.changedRecord(lg.g.ref(index)); changed {
		return rec
	}
	return lg.members[index]
}

// names are the series that rows are kept of, the first few by their paths.
func (b *rebuild) names(lg *lostGroup) string {
	var paths []string
	n := 0
	for _, i := range lg.indexes() {
		rec := b.now(lg, i)
		if rec == nil || !lg.keeps(i) {
			continue
		}
		if n++; len(paths) < 3 {
			paths = append(paths, fmt.Sprintf("%q", rec.path))
		}
	}
	out := strings.Join(paths, ", ")
	if n > len(paths) {
		out = fmt.Sprintf("%s and %d others", out, n-len(paths))
	}
	return out
}

// closeGaps puts an empty block wherever a sub-block is missing between two others, so that the
// directory can name them.
func (b *rebuild) closeGaps(lg *lostGroup) {
	for stream, slots := range lg.slots {
		for slot, subs := range slots {
			if len(subs.kept) == 0 {
				delete(slots, slot)
				continue
			}
			lo, hi := slices.Min(subs.kept), slices.Max(subs.kept)
			if hi-lo >= rowblock.MaxSubBlocks {
				for _, sub := range subs.kept {
					b.put(bucketRows, rowblock.Key(nil, lg.g.c.id, stream, slot, sub, lg.g.id), nil)
				}
				b.lostRows(lg, stream, slot, -1, damage.ErrMissing)
				delete(slots, slot)
				continue
			}
			for sub := lo; sub < hi; sub++ {
				if slices.Contains(subs.kept, sub) {
					continue
				}
				k := rowblock.Key(nil, lg.g.c.id, stream, slot, sub, lg.g.id)
				b.put(bucketRows, k, rowblock.Empty(k))
				if !slices.Contains(subs.found, sub) {
					b.lostRows(lg, stream, slot, -1, damage.ErrMissing)
				}
			}
			subs.kept = []uint16{lo, hi}
		}
	}
}

// directory is that of the blocks that were kept.
func (lg *lostGroup) directory() *rowblock.Directory {
	d := lg.lags
	for stream, slots := range lg.slots {
		for _, slot := range slices.Sorted(maps.Keys(slots)) {
			kept := slots[slot].kept
			d.Slots[stream] = append(d.Slots[stream], rowblock.SubBlocks{Slot: slot, Lo: slices.Min(kept), Hi: slices.Max(kept) + 1})
		}
	}
	return d
}
