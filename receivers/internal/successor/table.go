// Package successor finds the series of a value quickly in a stream that repeats itself.
//
// Senders send their series in the same order each time. So a [Table] remembers, for each entry,
// which entry came next the last time. The owner of the table first compares the key at hand with
// the key of that entry. Only if they differ does it hash the key and look it up. [Keys] holds the
// bytes of the keys. [Cache] is the owner for keys of bytes.
//
// Neither type holds pointers for each entry, so a million entries cost the garbage collector
// nothing. The owner keeps the entries themselves, in a slice in the order of [Table.Add], and
// compares keys itself: a look-up makes no call through an interface.
package successor

import "unsafe"

// None stands for no entry.
const None = ^uint32(0)

// leastSlots is the size of the smallest hash table. The size is always a power of two.
const leastSlots = 16

// A Table numbers entries from 0 on, finds them by the hashes of their keys, and remembers which
// entry came after which. The zero value is ready. It is for one goroutine.
type Table struct {
	slots []uint32 // hash table with open addressing: 0 is free, else 1 + the number of an entry
	links []link   // by the number of the entry
	last  uint32   // 1 + the number of the entry that was found last; 0: it is not known
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

// Last returns the entry that was found last; None: it is not known.
func (t *Table) Last() uint32 { return t.last - 1 }

// Foreseen returns the entry that came after Last the last time; None: no entry did.
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

// Follow notes that entry i was found, and that it is foreseen after Last from now on.
func (t *Table) Follow(i uint32) {
	if l := t.last - 1; l < uint32(len(t.links)) {
		t.links[l].next = i
	}
	t.last = i + 1
}

// Lose makes Last None, because the key that came is not in the table.
func (t *Table) Lose() { t.last = 0 }

// Is reports whether entry i has the hash h.
func (t *Table) Is(i, h uint32) bool { return t.links[i].hash == h }

// Probe returns an entry with the hash h, and where the search goes on if its key is another one;
// None: there is no further entry. The search begins at h. Several goroutines may search at a time.
func (t *Table) Probe(h, at uint32) (i, next uint32) {
	if len(t.slots) == 0 {
		return None, at
	}
	for mask := uint32(len(t.slots) - 1); ; {
		s := t.slots[at&mask]
		at++
		if s == 0 || t.links[s-1].hash == h {
			return s - 1, at // None if s is 0
		}
	}
}

// Add makes an entry for a key that has none, and returns its number. Numbers follow each other.
func (t *Table) Add(h uint32) uint32 {
	if 2*len(t.links) >= len(t.slots) {
		t.slots = make([]uint32, max(2*len(t.slots), leastSlots))
		for i := range t.links {
			t.insert(t.links[i].hash, uint32(i)+1)
		}
	}
	n := uint32(len(t.links))
	// The entry that comes next may well be the next new one.
	t.links = append(t.links, link{hash: h, next: n + 1})
	t.insert(h, n+1)
	return n
}

func (t *Table) insert(h, s uint32) {
	mask := uint32(len(t.slots) - 1)
	i := h & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// Clear removes all entries and keeps the memory.
func (t *Table) Clear() {
	clear(t.slots)
	t.links, t.last = t.links[:0], 0
}
