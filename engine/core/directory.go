package core

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/record"
)

// A directory says which row blocks of a group the database holds. It is never
// changed once others may see it.
type directory struct {
	slots [][]slotEntry // by stream, slots ascending
	lags  []lagEntry    // series that have rows in the lag bucket, in order of their indices
}

// A lagEntry says which records of the lag bucket a series has, so that a missing one is noticed.
type lagEntry struct {
	index   uint16
	records uint32
	keys    uint32 // exclusive or of the checksums of their keys
}

func compareLag(e lagEntry, index uint16) int { return int(e.index) - int(index) }

// A slotEntry says which sub-blocks of a slot there are: lo ≤ sub < hi.
type slotEntry struct {
	slot   int64
	lo, hi uint16
}

func (d *directory) clone(streams int) *directory {
	out := &directory{slots: make([][]slotEntry, streams)}
	if d != nil {
		for i := range d.slots {
			out.slots[i] = slices.Clone(d.slots[i])
		}
		out.lags = slices.Clone(d.lags)
	}
	return out
}

func compareSlot(e slotEntry, slot int64) int {
	switch {
	case e.slot < slot:
		return -1
	case e.slot > slot:
		return 1
	}
	return 0
}

// slot returns the entry of a slot, which it makes if it is not there.
func (d *directory) slot(stream int, slot int64) *slotEntry {
	entries := &d.slots[stream]
	i, found := slices.BinarySearchFunc(*entries, slot, compareSlot)
	if !found {
		*entries = slices.Insert(*entries, i, slotEntry{slot: slot})
	}
	return &(*entries)[i]
}

// between returns the entries of slots from to to, both included.
func (d *directory) between(stream int, from, to int64) []slotEntry {
	if d == nil || stream >= len(d.slots) {
		return nil
	}
	e := d.slots[stream]
	i, _ := slices.BinarySearchFunc(e, from, compareSlot)
	j, found := slices.BinarySearchFunc(e, to, compareSlot)
	if found {
		j++
	}
	return e[i:max(i, j)]
}

// lagging returns what there is of a series in the lag bucket.
func (d *directory) lagging(index int) lagEntry {
	if d == nil {
		return lagEntry{}
	}
	i, found := slices.BinarySearchFunc(d.lags, uint16(index), compareLag)
	if !found {
		return lagEntry{}
	}
	return d.lags[i]
}

// addLag notes a new record of a series.
func (d *directory) addLag(index int, key []byte) {
	i, found := slices.BinarySearchFunc(d.lags, uint16(index), compareLag)
	if !found {
		d.lags = slices.Insert(d.lags, i, lagEntry{index: uint16(index)})
	}
	d.lags[i].records++
	d.lags[i].keys ^= crc32.Checksum(key, record.Castagnoli)
}

// remove notes that a record has gone.
func (e *lagEntry) remove(key []byte) {
	e.records -= min(e.records, 1)
	e.keys ^= crc32.Checksum(key, record.Castagnoli)
}

// append codes d: for each stream its entries (slot less the one before, lo, hi), then lags.
func (d *directory) append(dst []byte) []byte {
	for _, entries := range d.slots {
		dst = binary.AppendUvarint(dst, uint64(len(entries)))
		last := int64(0)
		for _, e := range entries {
			dst = binary.AppendVarint(dst, e.slot-last)
			dst = binary.AppendUvarint(dst, uint64(e.lo))
			dst = binary.AppendUvarint(dst, uint64(e.hi))
			last = e.slot
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.lags)))
	for _, e := range d.lags {
		dst = binary.AppendUvarint(dst, uint64(e.index))
		dst = binary.AppendUvarint(dst, uint64(e.records))
		dst = binary.LittleEndian.AppendUint32(dst, e.keys)
	}
	return dst
}

func readDirectory(r *record.Reader, streams int) *directory {
	d := &directory{slots: make([][]slotEntry, streams)}
	for st := range streams {
		n := r.Uvarint()
		if n > uint64(len(r.Rest)) {
			r.Fail()
			return d
		}
		last := int64(0)
		for range n {
			last += r.Varint()
			d.slots[st] = append(d.slots[st], slotEntry{last, r.Uint16(), r.Uint16()})
		}
	}
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return d
	}
	for range n {
		e := lagEntry{index: r.Uint16(), records: uint32(min(r.Uvarint(), math.MaxUint32))}
		if p := r.Bytes(4); p != nil {
			e.keys = binary.LittleEndian.Uint32(p)
		}
		d.lags = append(d.lags, e)
	}
	return d
}
