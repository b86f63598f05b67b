package rowblock

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/rondo-db/rondo/internal/record"
)

// A Directory says which blocks of a group the database holds. Once other goroutines see a
// Directory, nobody changes it.
type Directory struct {
	Slots [][]SubBlocks // by stream, slots ascending
	Lags  []LagCount    // by index in the group: series that have rows in the lag bucket
}

// A LagCount says which records of the lag bucket a series has, so that a missing one is noticed.
type LagCount struct {
	Index   uint16 // of the series in its group
	Records uint32
	Keys    uint32 // exclusive or of the checksums of the records' keys
}

func compareLag(e LagCount, index uint16) int { return int(e.Index) - int(index) }

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
	out := &Directory{Slots: make([][]SubBlocks, streams)}
	if d != nil {
		for i := range d.Slots {
			out.Slots[i] = slices.Clone(d.Slots[i])
		}
		out.Lags = slices.Clone(d.Lags)
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

// Of returns the blocks of all slots of a stream, in order. d may be nil.
func (d *Directory) Of(stream int) []SubBlocks {
	if d == nil || stream >= len(d.Slots) {
		return nil
	}
	return d.Slots[stream]
}

// Between returns the blocks of the slots from to to, both included. d may be nil.
func (d *Directory) Between(stream int, from, to int64) []SubBlocks {
	e := d.Of(stream)
	i, _ := slices.BinarySearchFunc(e, from, compareSlot)
	j, found := slices.BinarySearchFunc(e, to, compareSlot)
	if found {
		j++
	}
	return e[i:max(i, j)]
}

// Lagging returns which records of the lag bucket a series has. d may be nil.
func (d *Directory) Lagging(index int) LagCount {
	if d == nil {
		return LagCount{}
	}
	i, found := slices.BinarySearchFunc(d.Lags, uint16(index), compareLag)
	if !found {
		return LagCount{}
	}
	return d.Lags[i]
}

// AddLag notes a new record of a series in the lag bucket.
func (d *Directory) AddLag(index int, key []byte) {
	i, found := slices.BinarySearchFunc(d.Lags, uint16(index), compareLag)
	if !found {
		d.Lags = slices.Insert(d.Lags, i, LagCount{Index: uint16(index)})
	}
	d.Lags[i].Add(key)
}

// Add notes a new record.
func (e *LagCount) Add(key []byte) {
	e.Records++
	e.Keys ^= crc32.Checksum(key, record.Castagnoli)
}

// Remove notes that a record was deleted.
func (e *LagCount) Remove(key []byte) {
	e.Records -= min(e.Records, 1)
	e.Keys ^= crc32.Checksum(key, record.Castagnoli)
}

// Append appends d: for each stream the number of slots and for each slot its distance from the
// slot before it, lo, hi, and the difference of its log position from the slot's before it; then
// the number of lagging series and for each its index, records and keys. Part of the format.
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
	dst = binary.AppendUvarint(dst, uint64(len(d.Lags)))
	for _, e := range d.Lags {
		dst = binary.AppendUvarint(dst, uint64(e.Index))
		dst = binary.AppendUvarint(dst, uint64(e.Records))
		dst = binary.LittleEndian.AppendUint32(dst, e.Keys)
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
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return d
	}
	for range n {
		e := LagCount{Index: r.Uint16(), Records: uint32(min(r.Uvarint(), math.MaxUint32))}
		if p := r.Bytes(4); p != nil {
			e.Keys = binary.LittleEndian.Uint32(p)
		}
		d.Lags = append(d.Lags, e)
	}
	return d
}

// Valid reports whether d can be the directory of a group of n series.
func (d *Directory) Valid(n int) bool {
	for _, entries := range d.Slots {
		for i, e := range entries {
			if e.Lo >= e.Hi || e.Hi-e.Lo > MaxSubBlocks || i > 0 && e.Slot <= entries[i-1].Slot {
				return false
			}
		}
	}
	for i, e := range d.Lags {
		if int(e.Index) >= n || e.Records == 0 || i > 0 && e.Index <= d.Lags[i-1].Index {
			return false
		}
	}
	return true
}
