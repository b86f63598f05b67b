package core

import (
	"encoding/binary"
	"slices"
)

// A directory says which row blocks of a group the database holds. It is never
// changed once others may see it.
type directory struct {
	slots [][]slotEntry // by stream, slots ascending
	lags  []uint16      // series that have rows in the lag bucket, ascending
}

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

func (d *directory) lagging(index int) bool {
	if d == nil {
		return false
	}
	_, found := slices.BinarySearch(d.lags, uint16(index))
	return found
}

func (d *directory) addLag(index int) {
	if i, found := slices.BinarySearch(d.lags, uint16(index)); !found {
		d.lags = slices.Insert(d.lags, i, uint16(index))
	}
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
	for _, i := range d.lags {
		dst = binary.AppendUvarint(dst, uint64(i))
	}
	return dst
}

func (r *reader) directory(streams int) *directory {
	d := &directory{slots: make([][]slotEntry, streams)}
	for st := range streams {
		n := r.uvarint()
		if n > uint64(len(r.b)) {
			r.fail()
			return d
		}
		last := int64(0)
		for range n {
			last += r.varint()
			d.slots[st] = append(d.slots[st], slotEntry{last, uint16(r.uvarint()), uint16(r.uvarint())})
		}
	}
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return d
	}
	for range n {
		d.lags = append(d.lags, uint16(r.uvarint()))
	}
	return d
}
