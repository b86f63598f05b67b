package smon

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
)

// A cache holds, for one stream, what is known of each token at each effective index: the reference
// of a series, or the place of a text. A look-up compares and hashes numbers, not names.
//
// A full cache is emptied; references are resolved again when they are needed.
type cache struct {
	table   successor.Table
	entries []entry  // by their numbers in table
	indexes []uint64 // of all entries
	seed    uint64
	refs    int64 // entries that have a reference
}

// An entry is a token at an index.
type entry struct {
	receivers.Series
	token *Token
	index uint32 // where its index begins in indexes
	place uint32 // of a text: its place in texts
	depth uint8  // length of its index
	asked bool   // the reference is being asked for
}

const (
	cacheEntries = 1 << 16 // entries of one stream: with their indexes 4 to 8 MB
	entryBytes   = 40      // size of an entry
)

func (c *cache) full() bool { return len(c.entries) >= cacheEntries }

// clear forgets all entries. It frees their memory if there were many.
func (c *cache) clear() {
	if len(c.entries) > 1024 {
		*c = cache{}
		return
	}
	c.table.Clear()
	clear(c.entries)
	c.entries, c.indexes, c.refs = c.entries[:0], c.indexes[:0], 0
}

// size returns how many bytes the cache takes.
func (c *cache) size() int {
	return c.table.Size() + entryBytes*cap(c.entries) + 8*cap(c.indexes)
}

func (c *cache) at(e *entry) []uint64 { return c.indexes[e.index:][:e.depth] }

// sum returns the hash of a key. It depends on a seed, so that nobody can choose indexes that
// collide.
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
	if i := c.table.Foreseen(); i != successor.None && c.is(&c.entries[i], t, index) {
		c.table.Found(i)
		return i, true
	}
	h := c.sum(t, index)
	for i, at := c.table.Probe(h, h); i != successor.None; i, at = c.table.Probe(h, at) {
		if c.is(&c.entries[i], t, index) {
			c.table.Follow(i)
			return i, true
		}
	}
	return 0, false
}

func (c *cache) is(e *entry, t *Token, index []uint64) bool {
	return e.token == t && int(e.depth) == len(index) && slices.Equal(c.at(e), index)
}

// add makes an entry for a token at an index, which has none.
func (c *cache) add(t *Token, index []uint64) uint32 {
	if c.seed == 0 {
		c.seed = rand.Uint64() | 1
	}
	n := c.table.Add(c.sum(t, index))
	c.table.Follow(n)
	c.entries = append(c.entries, entry{token: t, index: uint32(len(c.indexes)), depth: uint8(len(index))})
	c.indexes = append(c.indexes, index...)
	return n
}
