package rowblock

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/rondo-db/rondo/internal/record"
)

// A Directory says which blocks of a group the database holds. Once other goroutines see a
// Directory, nobody changes it.
type Directory struct {
	Slots [][]SubBlocks // by stream, slots ascending
	// Since is by index in the group: the second at which the first row begins that the database
	// got of a series, or NoRows. That row may have expired. A series that Since lacks had no row.
	Since []int64

	// Lows is by stream: the slots before this one were looked at for rows that no series keeps,
	// when there were as many series as Living. Both are not stored.
	Lows   []int64
	Living int
}

// NoRows is behind every row.
const NoRows = math.MaxInt64

// MaxSubBlocks bounds the blocks of a slot. A checkpoint merges them long before.
const MaxSubBlocks = 1 << 8

// SubBlocks says which blocks a slot has: those with the numbers Lo to Hi-1.
type SubBlocks struct {
	Slot   int64
	Lo, Hi uint16
	// Pos is the log position that the group stood for when a block of the slot was last written or
	// deleted. Numbers come again after a slot has gone, so they do not show whether a block is the
	// one that was there before. 0: not known.
	Pos uint64
}

// Clone returns a copy that may be changed, with room for the given number of streams. d may be
// nil.
func (d *Directory) Clone(streams int) *Directory {
	out := &Directory{Slots: make([][]SubBlocks, streams), Lows: make([]int64, streams)}
	if d != nil {
		copy(out.Lows, d.Lows)
		out.Living = d.Living
		for i := range d.Slots {
			out.Slots[i] = slices.Clone(d.Slots[i])
		}
		out.Since = slices.Clone(d.Since)
	}
	return out
}

func compareSlot(e SubBlocks, slot int64) int { return cmp.Compare(e.Slot, slot) }

// Slot returns the blocks of a slot, after it added the slot if that was missing. The result holds
// until d changes.
func (d *Directory) Slot(stream int, slot int64) *SubBlocks {
	entries := &d.Slots[stream]
	i, found := slices.BinarySearchFunc(*entries, slot, compareSlot)
	if !found {
		*entries = slices.Insert(*entries, i, SubBlocks{Slot: slot})
	}
	return &(*entries)[i]
}

// Between returns the blocks of the slots from to to, both included. d may be nil.
func (d *Directory) Between(stream int, from, to int64) []SubBlocks {
	if d == nil || stream >= len(d.Slots) {
		return nil
	}
	e := d.Slots[stream]
	i, _ := slices.BinarySearchFunc(e, from, compareSlot)
	j, found := slices.BinarySearchFunc(e, to, compareSlot)
	if found {
		j++
	}
	return e[i:max(i, j)]
}

// Begun returns the second at which the first row begins that the database got of a series. d may
// be nil.
func (d *Directory) Begun(index int) int64 {
	if d == nil || index >= len(d.Since) {
		return NoRows
	}
	return d.Since[index]
}

// Begin notes a row of a series that begins at a second.
func (d *Directory) Begin(index int, at int64) {
	for index >= len(d.Since) {
		d.Since = append(d.Since, NoRows)
	}
	d.Since[index] = min(d.Since[index], at)
}

// Append appends d: for each stream the number of slots and for each slot its distance from the
// slot before it, lo, hi, and the difference of its log position from the slot's before it; then
// the number of seconds in Since and for each the difference from the one before it. Part of the
// format.
func (d *Directory) Append(dst []byte) []byte {
	for _, entries := range d.Slots {
		dst = binary.AppendUvarint(dst, uint64(len(entries)))
		var last SubBlocks
		for _, e := range entries {
			dst = binary.AppendVarint(dst, e.Slot-last.Slot)
			dst = binary.AppendUvarint(dst, uint64(e.Lo))
			dst = binary.AppendUvarint(dst, uint64(e.Hi))
			dst = binary.AppendVarint(dst, int64(e.Pos-last.Pos))
			last = e
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.Since)))
	last := int64(0)
	for _, at := range d.Since {
		dst = binary.AppendVarint(dst, at-last)
		last = at
	}
	return dst
}

// ReadDirectory is the inverse of Append.
func ReadDirectory(r *record.Reader, streams int) *Directory {
	d := &Directory{Slots: make([][]SubBlocks, streams)}
	for st := range streams {
		n := r.Uvarint()
		if n > uint64(len(r.Rest)) {
			r.Fail()
			return d
		}
		var last SubBlocks
		for range n {
			if r.Err != nil {
				return d
			}
			last = SubBlocks{last.Slot + r.Varint(), r.Uint16(), r.Uint16(), last.Pos + uint64(r.Varint())}
			d.Slots[st] = append(d.Slots[st], last)
		}
	}
	last := int64(0)
	for n := r.Uvarint(); n > 0 && r.Err == nil; n-- {
		last += r.Varint()
		d.Since = append(d.Since, last)
	}
	return d
}

// Valid reports whether d can be the directory of a group.
func (d *Directory) Valid() bool {
	for _, entries := range d.Slots {
		for i, e := range entries {
			if e.Lo >= e.Hi || e.Hi-e.Lo > MaxSubBlocks || i > 0 && e.Slot <= entries[i-1].Slot {
				return false
			}
		}
	}
	return true
}
