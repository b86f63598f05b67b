package smon

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// A cache keeps, for one stream, what is known of each token at each effective index: the reference of a series, or
// the place of a text. A look-up compares and hashes numbers, no names.
//
// Entries stand in the order in which they were first seen; senders repeat themselves, so each entry
// remembers which came after it, and a look-up tries that one before the table.
//
// When it is full it starts over; references are resolved again as they are needed.
type cache struct {
	seed    uint64
	slots   []uint32 // open addressing; 0 is free, else 1 + index into entries
	entries []entry
	indexes []uint64 // of all entries
	last    uint32   // entry of the last look-up that hit
	refs    int64    // entries that have a reference
}

// An entry is a token at an index. Seconds are of the Unix clock.
type entry struct {
	token *Token
	ref   core.Ref
	hash  uint32
	index uint32 // where it stands in indexes
	next  uint32 // entry that came after this one last time
	due   uint32 // second from which a series that was refused is tried again
	place uint32 // in texts, of a text
	depth uint8
	why   receivers.Reason // there is no reference
	asked bool             // the reference is being asked for
}

const (
	cacheEntries = 1 << 16 // of one stream: with their indexes some 4 to 8 MB
	entryBytes   = 40
)

func (c *cache) full() bool { return len(c.entries) >= cacheEntries }

// clear forgets all entries, and lets go of what a great many have taken.
func (c *cache) clear() {
	if len(c.entries) > 1024 {
		*c = cache{}
		return
	}
	clear(c.slots)
	clear(c.entries)
	c.entries, c.indexes, c.last, c.refs = c.entries[:0], c.indexes[:0], 0, 0
}

// size returns how many bytes the cache takes.
func (c *cache) size() int {
	return entryBytes*cap(c.entries) + 4*cap(c.slots) + 8*cap(c.indexes)
}

func (c *cache) at(e *entry) []uint64 { return c.indexes[e.index:][:e.depth] }

// sum hashes a key. It has a seed, so that nobody can choose indexes that collide.
func (c *cache) sum(t *Token, index []uint64) uint32 {
	h := c.seed ^ uint64(t.Number)
	for _, n := range index {
		hi, lo := bits.Mul64(h^n, 0x9e3779b97f4a7c15)
		h = hi ^ lo
	}
	hi, lo := bits.Mul64(h^c.seed, 0xd6e8feb86659fd93)
	return uint32(hi ^ lo)
}

// find returns the entry of a token at an index, if it is there.
func (c *cache) find(t *Token, index []uint64) (uint32, bool) {
	if int(c.last) < len(c.entries) {
		if n := c.entries[c.last].next; int(n) < len(c.entries) && c.is(&c.entries[n], t, index) {
			c.last = n
			return n, true
		}
	}
	if len(c.slots) == 0 {
		return 0, false
	}
	h := c.sum(t, index)
	mask := uint32(len(c.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := c.slots[i]
		if s == 0 {
			return 0, false
		}
		if e := &c.entries[s-1]; e.hash == h && c.is(e, t, index) {
			c.entries[c.last].next = s - 1
			c.last = s - 1
			return s - 1, true
		}
	}
}

func (c *cache) is(e *entry, t *Token, index []uint64) bool {
	return e.token == t && int(e.depth) == len(index) && slices.Equal(c.at(e), index)
}

// add makes an entry for a token at an index, which has none.
func (c *cache) add(t *Token, index []uint64) uint32 {
	if c.seed == 0 {
		c.seed = rand.Uint64() | 1
	}
	if 2*len(c.entries) >= len(c.slots) {
		c.slots = make([]uint32, max(2*len(c.slots), 16))
		for i := range c.entries {
			c.place(c.entries[i].hash, uint32(i)+1)
		}
	}
	n := uint32(len(c.entries))
	e := entry{token: t, hash: c.sum(t, index), index: uint32(len(c.indexes)), depth: uint8(len(index)), next: n + 1}
	c.indexes = append(c.indexes, index...)
	c.entries = append(c.entries, e)
	c.place(e.hash, n+1)
	c.entries[c.last].next = n
	c.last = n
	return n
}

func (c *cache) place(h, s uint32) {
	mask := uint32(len(c.slots) - 1)
	i := h & mask
	for c.slots[i] != 0 {
		i = (i + 1) & mask
	}
	c.slots[i] = s
}
