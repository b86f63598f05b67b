package core

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
)

// A lagging series has fallen behind its group: its window still holds rows of slots that the
// group has deleted. These rows lie in the bucket lag, one record for each column and slot.

// lagKey returns the key of the rows of a column, in one slot of a stream.
func lagKey(g *group, column, stream int, slot int64) []byte {
	k := groupID{Class: g.c.id, Number: g.id}.AppendKey(nil)
	k = binary.BigEndian.AppendUint16(k, uint16(column))
	k = binary.BigEndian.AppendUint16(k, uint16(stream))
	return binary.BigEndian.AppendUint64(k, uint64(slot)^1<<63)
}

const (
	lagColumnSize = 8 + 2 // of a lag key: group and column
	lagKeySize    = lagColumnSize + 2 + 8
)

// lagColumn returns the column of a lag key.
func lagColumn(k []byte) int { return int(binary.BigEndian.Uint16(k[8:])) }

// lagSlot returns the slot of a lag key.
func lagSlot(k []byte) int64 { return int64(binary.BigEndian.Uint64(k[12:]) ^ 1<<63) }

// addLags appends strips of one slot to the lag records of their columns. If one of these records
// is damaged it does nothing and returns false; the rows then stay in the slot.
func (w *checkpointTx) addLags(sn *snapshot, stream int, slot int64, strips []rowblock.Strip) bool {
	st := &sn.g.c.streams[stream]
	strips = slices.DeleteFunc(slices.Clone(strips), func(sg rowblock.Strip) bool {
		return slot*st.Slot+int64(sg.Skip+sg.Rows) <= sn.lows[stream][sg.Column/sn.g.c.sources]
	})
	old := make(map[string][]byte)
	for i := range strips {
		k := lagKey(sn.g, strips[i].Column, stream, slot)
		stored := w.lag.Get(k)
		if _, ok := w.lags[string(k)]; ok || stored == nil {
			continue
		}
		rows, err := record.CutSum(stored, bucketLag, k)
		if err != nil {
			_ = w.cp.loader.damagedLag(w.tx, sn.g, strips[i].Column, stream, slot, err) // it is noted
			return false
		}
		old[string(k)] = rows
	}
	if w.lags == nil {
		w.lags = make(map[string][]byte)
	}
	if w.lagging == nil {
		w.lagging = make(map[string]bool)
	}
	for i := range strips {
		sg := &strips[i]
		key := lagKey(sn.g, sg.Column, stream, slot)
		k := string(key)
		v := w.lags[k]
		if v == nil {
			rows, ok := old[k]
			if !ok {
				sn.dir.AddLag(sg.Column/sn.g.c.sources, key)
			}
			v = bytes.Clone(rows)
		}
		w.lags[k] = sg.Append(v)
		w.lagging[k[:lagColumnSize]] = true
	}
	return true
}

// dropLags deletes the lag records of series whose window has passed them.
func (w *checkpointTx) dropLags(sn *snapshot) {
	for i := range sn.dir.Lags {
		e := &sn.dir.Lags[i]
		found, passed := w.dropLag(sn, e)
		if found == passed && !w.gainsLag(sn, int(e.Index)) && sn.caughtUp(int(e.Index)) {
			e.Records = 0 // the window has passed missing records, too
		}
	}
	sn.dir.Lags = slices.DeleteFunc(sn.dir.Lags, func(e rowblock.LagCount) bool { return e.Records == 0 })
}

// dropLag deletes the lag records of one series that its window has passed. It returns how many
// records it found, and how many of them the window has passed.
func (w *checkpointTx) dropLag(sn *snapshot, e *rowblock.LagCount) (found, passed int) {
	index := int(e.Index)
	first := index * sn.g.c.sources
	prefix := lagKey(sn.g, first, 0, -1<<63)
	cur := w.lag.Cursor()
	for k, _ := cur.Seek(prefix); len(k) == lagKeySize && bytes.Equal(k[:8], prefix[:8]) && lagColumn(k) < first+sn.g.c.sources; k, _ = cur.Next() {
		found++
		if w.lagPassed(sn, index, k) {
			w.lags = setLag(w.lags, string(k))
			e.Remove(k)
			passed++
		}
	}
	return found, passed
}

// gainsLag reports whether a series gets new lag records.
func (w *checkpointTx) gainsLag(sn *snapshot, index int) bool {
	for column := index * sn.g.c.sources; column < (index+1)*sn.g.c.sources; column++ {
		if w.lagging[string(lagKey(sn.g, column, 0, 0)[:lagColumnSize])] {
			return true
		}
	}
	return false
}

// caughtUp reports whether a series keeps no row of a slot that its group has deleted.
func (sn *snapshot) caughtUp(index int) bool {
	if index >= len(sn.alive) || !sn.alive[index] {
		return true
	}
	for st := range sn.g.c.streams {
		if sn.lows[st][index] < sn.windowSlot(st)*sn.g.c.streams[st].Slot {
			return false
		}
	}
	return true
}

// lagPassed reports whether the window of a series has passed the rows of a lag key.
func (w *checkpointTx) lagPassed(sn *snapshot, index int, k []byte) bool {
	stream := int(binary.BigEndian.Uint16(k[10:]))
	slot := int64(binary.BigEndian.Uint64(k[12:]) ^ 1<<63)
	if index >= len(sn.alive) || !sn.alive[index] || stream >= len(sn.g.c.streams) {
		return true
	}
	return (slot+1)*sn.g.c.streams[stream].Slot <= sn.lows[stream][index]
}

// setLag marks the record of a key as deleted.
func setLag(m map[string][]byte, k string) map[string][]byte {
	if m == nil {
		m = make(map[string][]byte)
	}
	m[k] = nil
	return m
}
