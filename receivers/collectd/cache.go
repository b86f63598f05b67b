package collectd

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/receivers"
)

// The cache turns the names in a value list, and the kinds of its values, into the reference
// of a series, without making a path of them. Kinds are part of the key: a list that does not
// fit its series is a key of its own, which is refused.
//
// Entries stand in the order in which they were first seen; senders repeat themselves, so each
// entry remembers which came after it, and a look-up tries that one before the table. Keys and
// entries hold no pointers: a million of them cost the garbage collector nothing.
//
// When it is full it starts over; references are resolved again as they are needed.
type cache struct {
	seed    maphash.Seed
	slots   []uint32 // open addressing; 0 is free, else 1 + index into entries
	entries []entry
	chunks  [][]byte // the bytes of keys; one never crosses chunks
	last    uint32   // entry of the last look-up that hit
	most    int      // entries
}

type entry struct {
	hash  uint64
	sizes uint64 // of the parts of the key, packed
	ref   engine.Ref
	key   uint32 // chunk, and offset in it in units of keyAlign
	next  uint32 // entry that came after this one last time
	retry uint32 // for a series that was refused: the second (of the Unix clock) to try again from
	why   receivers.Reason
}

const (
	cacheEntries = 1 << 21 // default bound: with keys of 64 bytes about 250 MB
	chunkBits    = 20
	chunkBytes   = 1 << chunkBits
	keyAlign     = 16
	maxChunks    = 1 << 12 // chunks that a key's 32 bits address
	chunkShift   = chunkBits - 4
)

func newCache(most int) *cache {
	return &cache{seed: maphash.MakeSeed(), slots: make([]uint32, 1024), most: most}
}

func (c *cache) len() int { return len(c.entries) }

func (c *cache) clear() {
	clear(c.slots)
	c.entries, c.chunks, c.last = c.entries[:0], c.chunks[:0], 0
}

// sum returns the hash of the key of v, made of the hashes of its parts.
func (c *cache) sum(v *ValueList) uint64 {
	h := uint64(v.Kinds[0])
	if len(v.Kinds) > 1 {
		h = maphash.Bytes(c.seed, v.Kinds)
	}
	for _, p := range v.hash {
		hi, lo := bits.Mul64(h^p, 0x9e3779b97f4a7c15)
		h = hi ^ lo
	}
	return h
}

// sizes packs the lengths of the parts of the key: names are at most 127 bytes, kinds at most maxSources.
func sizes(v *ValueList) uint64 {
	return uint64(len(v.Host)) | uint64(len(v.Plugin))<<8 | uint64(len(v.PluginInstance))<<16 |
		uint64(len(v.Type))<<24 | uint64(len(v.TypeInstance))<<32 | uint64(len(v.Kinds))<<40
}

// find returns the entry of v, or nil, and the hash of its key.
func (c *cache) find(v *ValueList) (*entry, uint64) {
	h, z := c.sum(v), sizes(v)
	if int(c.last) < len(c.entries) {
		if n := c.entries[c.last].next; int(n) < len(c.entries) {
			if e := &c.entries[n]; e.hash == h && c.equal(e, v, z) {
				c.last = n
				return e, h
			}
		}
	}
	mask := uint64(len(c.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := c.slots[i]
		if s == 0 {
			return nil, h
		}
		if e := &c.entries[s-1]; e.hash == h && c.equal(e, v, z) {
			c.entries[c.last].next = s - 1
			c.last = s - 1
			return e, h
		}
	}
}

func (c *cache) equal(e *entry, v *ValueList, z uint64) bool {
	if e.sizes != z {
		return false
	}
	k := c.chunks[e.key>>chunkShift][(e.key&(1<<chunkShift-1))*keyAlign:]
	for _, p := range [...][]byte{v.TypeInstance, v.Type, v.PluginInstance, v.Plugin, v.Host, v.Kinds} {
		if !bytes.Equal(k[:len(p)], p) {
			return false
		}
		k = k[len(p):]
	}
	return true
}

// add makes an entry for v, whose key has the hash h and is not there.
func (c *cache) add(v *ValueList, h uint64) *entry {
	if len(c.entries) >= c.most {
		c.clear()
	}
	key, ok := c.keep(v)
	if !ok {
		c.clear()
		key, _ = c.keep(v) // the first chunk has room for any key
	}
	if 2*len(c.entries) >= len(c.slots) {
		c.grow()
	}
	n := uint32(len(c.entries))
	c.entries = append(c.entries, entry{hash: h, sizes: sizes(v), key: key, next: n + 1})
	c.place(h, n+1)
	return &c.entries[n]
}

// keep copies the key of v.
func (c *cache) keep(v *ValueList) (uint32, bool) {
	n := len(v.Host) + len(v.Plugin) + len(v.PluginInstance) + len(v.Type) + len(v.TypeInstance) + len(v.Kinds)
	i := len(c.chunks) - 1
	if i < 0 || len(c.chunks[i])+n+keyAlign > chunkBytes {
		if i++; i == maxChunks {
			return 0, false
		}
		if i < cap(c.chunks) && c.chunks[:i+1][i] != nil {
			c.chunks = c.chunks[:i+1] // one from before clear
			c.chunks[i] = c.chunks[i][:0]
		} else {
			c.chunks = append(c.chunks, make([]byte, 0, chunkBytes))
		}
	}
	b := c.chunks[i]
	at := len(b)
	for _, p := range [...][]byte{v.TypeInstance, v.Type, v.PluginInstance, v.Plugin, v.Host, v.Kinds} {
		b = append(b, p...)
	}
	c.chunks[i] = b[:(len(b)+keyAlign-1)&^(keyAlign-1)]
	return uint32(i)<<chunkShift | uint32(at/keyAlign), true
}

func (c *cache) grow() {
	c.slots = make([]uint32, 2*len(c.slots))
	for i := range c.entries {
		c.place(c.entries[i].hash, uint32(i)+1)
	}
}

func (c *cache) place(h uint64, s uint32) {
	mask := uint64(len(c.slots) - 1)
	i := h & mask
	for c.slots[i] != 0 {
		i = (i + 1) & mask
	}
	c.slots[i] = s
}
