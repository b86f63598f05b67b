// Package successor finds what a receiver knows of a series while a stream of values goes by.
//
// Senders repeat themselves: the series that follows another one followed it the last time, too. So
// a [Table] remembers for each entry which came next, and its owner compares the key at hand with
// that one first. Only where it is another does the owner hash the key and ask the table. [Keys]
// holds the bytes of keys.
//
// Neither holds pointers for each entry: a million entries cost the garbage collector nothing. The
// owner keeps the entries themselves, in a slice in the order of [Table.Add], and makes the
// comparisons: so no call of a look-up goes through an interface.
package successor

import "unsafe"

// None is the number of no entry.
const None = ^uint32(0)

// leastSlots is the size of the smallest table; it is a power of two.
const leastSlots = 16

// A Table numbers entries from 0 on, finds them by the hashes of their keys, and remembers which
// came after which. The zero value is ready. It is for one goroutine.
type Table struct {
	slots []uint32 // open addressing; 0 is free, else 1 + the number of an entry
	links []link   // by number
	last  uint32   // 1 + the number of the entry that was found last; 0: none
	probe uint32   // where More goes on
}

type link struct {
	hash uint32
	next uint32 // the entry that came after this one last time
}

// Len returns how many entries there are.
func (t *Table) Len() int { return len(t.links) }

// Size returns how many bytes the table takes.
func (t *Table) Size() int {
	return int(unsafe.Sizeof(link{}))*cap(t.links) + int(unsafe.Sizeof(uint32(0)))*cap(t.slots)
}

// Last returns the entry that was found last; None if that is not known.
func (t *Table) Last() uint32 { return t.last - 1 }

// Foreseen returns the entry that came after Last the last time; None if there is none.
func (t *Table) Foreseen() uint32 {
	if l := t.last - 1; l < uint32(len(t.links)) {
		if n := t.links[l].next; n < uint32(len(t.links)) {
			return n
		}
	}
	return None
}

// Found notes that entry i was found.
func (t *Table) Found(i uint32) { t.last = i + 1 }

// Follow is Found, and has i be what is foreseen after Last from now on.
func (t *Table) Follow(i uint32) {
	if l := t.last - 1; l < uint32(len(t.links)) {
		t.links[l].next = i
	}
	t.last = i + 1
}

// Lose makes Last None, because what came is not in the table.
func (t *Table) Lose() { t.last = 0 }

// Is reports whether entry i has the hash h.
func (t *Table) Is(i, h uint32) bool { return t.links[i].hash == h }

// First returns the first entry with the hash h, or None. It need not have the key: then ask More.
func (t *Table) First(h uint32) uint32 {
	if len(t.slots) == 0 {
		return None
	}
	t.probe = h
	return t.More(h)
}

// More returns the next entry with the hash h after that of First or More, or None.
func (t *Table) More(h uint32) uint32 {
	mask := uint32(len(t.slots) - 1)
	for {
		s := t.slots[t.probe&mask]
		t.probe++
		if s == 0 {
			return None
		}
		if t.links[s-1].hash == h {
			return s - 1
		}
	}
}

// Add makes an entry for a key that has none, and returns its number: as many as there were before.
func (t *Table) Add(h uint32) uint32 {
	if 2*len(t.links) >= len(t.slots) {
		t.slots = make([]uint32, max(2*len(t.slots), leastSlots))
		for i := range t.links {
			t.place(t.links[i].hash, uint32(i)+1)
		}
	}
	n := uint32(len(t.links))
	// what comes next may well be the next that is new
	t.links = append(t.links, link{hash: h, next: n + 1})
	t.place(h, n+1)
	return n
}

func (t *Table) place(h, s uint32) {
	mask := uint32(len(t.slots) - 1)
	i := h & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// Clear takes all entries away, and keeps the memory for others.
func (t *Table) Clear() {
	clear(t.slots)
	t.links, t.last = t.links[:0], 0
}
