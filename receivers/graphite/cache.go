package graphite

import (
	"bytes"
	"hash/maphash"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
)

// A cache finds the series of a name by the bytes of the name. All connections and datagrams share
// it. Senders repeat themselves, each in an order of its own, and each says which entry it found
// last.
//
// A full cache is emptied; series are asked for again when they are needed.
type cache struct {
	table   successor.Table
	entries []entry // by their numbers in table
	keys    successor.Keys
	seed    maphash.Seed
	most    int   // entries
	refs    int64 // entries that have a reference
	absent  int   // bytes of the other names, about
	gen     uint64
}

// An entry is what is known of one name.
type entry struct {
	receivers.Series
	key  uint32 // place of the name in keys
	size uint16 // length of the name
}

const (
	cacheEntries = 1 << 21 // entries at most: about 250 MB with names of 64 bytes
	maxChunks    = 1 << 8  // chunks of names at most: 256 MB
	// maxAbsent is how much the names without a series may take. Whoever makes up names must not
	// make the cache large.
	maxAbsent  = 16 << 20
	entryBytes = 64
)

func newCache(most int) *cache { return &cache{seed: maphash.MakeSeed(), most: most} }

// clear forgets everything.
func (c *cache) clear() {
	c.table.Clear()
	c.keys.Clear()
	c.entries, c.refs, c.absent = c.entries[:0], 0, 0
	c.gen++
}

// A cursor is where a sender is in the order of its names.
type cursor struct {
	last uint32 // the entry that was found last
	gen  uint64 // of the cache
}

// begin makes the table foresee what follows the sender's last name.
func (c *cache) begin(at cursor) {
	c.table.Lose()
	if at.gen == c.gen && int(at.last) < len(c.entries) {
		c.table.Found(at.last)
	}
}

// end returns where the sender is now.
func (c *cache) end() cursor { return cursor{c.table.Last(), c.gen} }

func (c *cache) is(i uint32, name []byte) bool {
	e := &c.entries[i]
	return int(e.size) == len(name) && bytes.Equal(c.keys.At(e.key)[:e.size], name)
}

// find returns the entry of a name; nil: it has none.
func (c *cache) find(name []byte) *entry {
	if i := c.table.Foreseen(); i != successor.None && c.is(i, name) {
		c.table.Found(i)
		return &c.entries[i]
	}
	h := uint32(maphash.Bytes(c.seed, name))
	for i := c.table.First(h); i != successor.None; i = c.table.More(h) {
		if c.is(i, name) {
			c.table.Follow(i)
			return &c.entries[i]
		}
	}
	c.table.Lose()
	return nil
}

// add returns a new entry for a name that has none.
func (c *cache) add(name []byte) *entry {
	if len(c.entries) >= c.most || c.keys.Chunks() >= maxChunks {
		c.clear()
	}
	i := c.table.Add(uint32(maphash.Bytes(c.seed, name)))
	c.table.Follow(i)
	c.entries = append(c.entries, entry{key: c.keys.Add(name, nil), size: uint16(len(name))})
	return &c.entries[i]
}

// set remembers where the values of a name go.
func (c *cache) set(name []byte, x receivers.Series) {
	e := c.find(name)
	if e == nil {
		if x.Ref == 0 {
			if c.absent += len(name) + entryBytes; c.absent > maxAbsent {
				c.clear()
			}
		}
		e = c.add(name)
	}
	if e.Ref == 0 && x.Ref != 0 {
		c.refs++
	}
	if e.Ref != 0 && x.Ref == 0 {
		c.refs--
	}
	e.Series = x
}
