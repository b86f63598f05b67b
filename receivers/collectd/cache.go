package collectd

import (
	"bytes"
	"hash/maphash"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// The cache turns the names in a value list, and the kinds of its values, into the reference
// of a series, without making a path of them. Kinds are part of the key: a list that does not
// fit its series is a key of its own, which is refused.
//
// Senders repeat themselves, so each entry remembers which came after it in a packet, and which of the
// names differed then. A look-up tries that one first, and compares only what may differ: names that
// the packet has set since the list before, and those that differed. Else it makes the key and asks the table.
//
// Keys and entries hold no pointers: a million of them cost the garbage collector nothing.
//
// When it is full it starts over; references are resolved again as they are needed.
type cache struct {
	seed    maphash.Seed
	slots   []uint32 // open addressing; 0 is free, else 1 + index into entries
	entries []entry
	chunks  [][]byte // the bytes of keys; one never crosses chunks
	last    uint32   // entry of the list before; noEntry if it was none
	most    int      // entries
	key     []byte   // of the last look-up in the table
	use     uint64   // bits of a hash that count: all, but in tests
}

type entry struct {
	hash    uint64
	sizes   uint64 // of the parts of the key, packed
	ref     core.Ref
	key     uint32 // chunk, and offset in it in units of keyAlign
	next    uint32 // entry that came after this one last time
	retry   uint32 // for a series that was refused: the second (of the Unix clock) to try again from
	why     receivers.Reason
	differs parts // in which next differs from this one
}

// parts is a set of the names of a value list.
type parts uint8

// The names, in the order in which they stand in a key, before the kinds: what changes most stands first.
const (
	ofTypeInstance parts = 1 << iota
	ofType
	ofPluginInstance
	ofPlugin
	ofHost
	ofFirst // no name: the list is the first of its packet

	ofAll   = ofFirst - 1
	unknown = ofFirst | ofAll // how two entries differ is not known yet
)

const noEntry = ^uint32(0)

const (
	cacheEntries = 1 << 21 // default bound: with keys of 64 bytes about 250 MB
	chunkBits    = 20
	chunkBytes   = 1 << chunkBits
	keyAlign     = 16
	maxChunks    = 1 << 12 // chunks that a key's 32 bits address
	chunkShift   = chunkBits - 4
)

func newCache(most int) *cache {
	return &cache{seed: maphash.MakeSeed(), slots: make([]uint32, 1024), last: noEntry, most: most, use: ^uint64(0)}
}

func (c *cache) len() int { return len(c.entries) }

func (c *cache) clear() {
	clear(c.slots)
	c.entries, c.chunks, c.last = c.entries[:0], c.chunks[:0], noEntry
}

// sizes packs the lengths of the parts of the key: names are at most 127 bytes, kinds at most maxSources.
func sizes(v *ValueList) uint64 {
	return uint64(len(v.TypeInstance)) | uint64(len(v.Type))<<8 | uint64(len(v.PluginInstance))<<16 |
		uint64(len(v.Plugin))<<24 | uint64(len(v.Host))<<32 | uint64(len(v.Kinds))<<40
}

// skip makes the cache forget which list was the last, because it is not told of one.
func (c *cache) skip() { c.last = noEntry }

// find returns the entry of v, or nil. v.changed says in what v may differ from the list before, of which find
// must have been asked or skip told.
func (c *cache) find(v *ValueList) *entry {
	changed := v.changed
	p := c.last
	if p != noEntry {
		p := &c.entries[p]
		if n := p.next; int(n) < len(c.entries) {
			if e := &c.entries[n]; c.equal(e, v, changed|p.differs) {
				if p.differs == unknown {
					p.differs = c.differ(p, e)
				}
				c.last = n
				return e
			}
		}
	}
	h := c.sum(v)
	mask := uint64(len(c.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := c.slots[i]
		if s == 0 {
			c.last = noEntry
			return nil
		}
		e := &c.entries[s-1]
		if e.hash != h || e.sizes != sizes(v) || !bytes.Equal(c.keyOf(e)[:len(c.key)], c.key) {
			continue
		}
		c.last = s - 1
		if p != noEntry && changed&ofFirst == 0 { // packets of several senders come in any order
			c.entries[p].next, c.entries[p].differs = s-1, c.differ(&c.entries[p], e)
		}
		return e
	}
}

// sum makes the key of v, and returns its hash.
func (c *cache) sum(v *ValueList) uint64 {
	c.key = appendParts(c.key[:0], v)
	return (maphash.Bytes(c.seed, c.key) ^ sizes(v)*0x9e3779b97f4a7c15) & c.use
}

func appendParts(dst []byte, v *ValueList) []byte {
	dst = append(append(dst, v.TypeInstance...), v.Type...)
	dst = append(append(dst, v.PluginInstance...), v.Plugin...)
	return append(append(dst, v.Host...), v.Kinds...)
}

// keyOf returns the key of e, and what stands behind it.
func (c *cache) keyOf(e *entry) []byte {
	return c.chunks[e.key>>chunkShift][(e.key&(1<<chunkShift-1))*keyAlign:]
}

// equal reports whether e has the key of v, given that the names are the same that may not differ.
func (c *cache) equal(e *entry, v *ValueList, differ parts) bool {
	if e.sizes != sizes(v) {
		return false
	}
	k := c.keyOf(e)
	n := len(v.TypeInstance)
	if differ&ofTypeInstance != 0 && string(k[:n]) != string(v.TypeInstance) {
		return false
	}
	k, n = k[n:], len(v.Type)
	if differ&ofType != 0 && string(k[:n]) != string(v.Type) {
		return false
	}
	k, n = k[n:], len(v.PluginInstance)
	if differ&ofPluginInstance != 0 && string(k[:n]) != string(v.PluginInstance) {
		return false
	}
	k, n = k[n:], len(v.Plugin)
	if differ&ofPlugin != 0 && string(k[:n]) != string(v.Plugin) {
		return false
	}
	k, n = k[n:], len(v.Host)
	if differ&ofHost != 0 && string(k[:n]) != string(v.Host) {
		return false
	}
	k, n = k[n:], len(v.Kinds)
	if n == 1 {
		return k[0] == v.Kinds[0]
	}
	return string(k[:n]) == string(v.Kinds)
}

// differ returns in which names two entries differ.
func (c *cache) differ(a, b *entry) (d parts) {
	k, l := c.keyOf(a), c.keyOf(b)
	for i := range 5 {
		m, n := a.sizes>>(8*i)&0xff, b.sizes>>(8*i)&0xff
		if !bytes.Equal(k[:m], l[:n]) {
			d |= 1 << i
		}
		k, l = k[m:], l[n:]
	}
	return d
}

// add makes an entry for v, whose key is not there.
func (c *cache) add(v *ValueList) *entry {
	if len(c.entries) >= c.most {
		c.clear()
	}
	h := c.sum(v)
	key, ok := c.keep(c.key)
	if !ok {
		c.clear()
		key, _ = c.keep(c.key) // the first chunk has room for any key
	}
	if 2*len(c.entries) >= len(c.slots) {
		c.grow()
	}
	n := uint32(len(c.entries))
	// What comes next may well be the next that is new.
	c.entries = append(c.entries, entry{hash: h, sizes: sizes(v), key: key, next: n + 1, differs: unknown})
	c.place(h, n+1)
	return &c.entries[n]
}

// keep copies a key.
func (c *cache) keep(key []byte) (uint32, bool) {
	i := len(c.chunks) - 1
	if i < 0 || len(c.chunks[i])+len(key)+keyAlign > chunkBytes {
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
	at := len(c.chunks[i])
	b := append(c.chunks[i], key...)
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
