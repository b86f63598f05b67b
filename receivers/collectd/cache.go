package collectd

import (
	"bytes"
	"hash/maphash"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
)

// A cache finds the reference of a series by the names in a value list and the kinds of its values,
// without making a path of the names. The kinds are part of the key: a list whose values do not fit
// its series has an entry of its own, which is refused.
//
// An entry remembers in which names the entry that is foreseen after it differs from it. A look-up
// compares only those names with the foreseen entry, and the names that the packet has set since
// the list before.
//
// A full cache is emptied; references are resolved again when they are needed.
type cache struct {
	table   successor.Table
	entries []entry // by their numbers in table
	keys    successor.Keys
	seed    maphash.Seed
	most    int    // entries
	key     []byte // of the last look-up in the table
	use     uint32 // bits of a hash that are used; tests use fewer, so that hashes collide
}

// An entry is one key of the cache.
type entry struct {
	sizes uint64 // lengths of the parts of the key, packed
	receivers.Series
	key     uint32 // place of the key in keys
	differs parts  // names in which the entry foreseen after this one differs
}

// cacheEntries is the largest number of entries: about 250 MB with keys of 64 bytes.
const cacheEntries = 1 << 21

func newCache(most int) *cache {
	return &cache{seed: maphash.MakeSeed(), most: most, use: ^uint32(0)}
}

func (c *cache) len() int { return len(c.entries) }

func (c *cache) clear() {
	c.table.Clear()
	c.keys.Clear()
	c.entries = c.entries[:0]
}

// sizes packs the lengths of the parts of v's key. Names have at most 127 bytes, and there are at
// most maxSources kinds.
func sizes(v *ValueList) uint64 {
	return uint64(len(v.TypeInstance)) | uint64(len(v.Type))<<8 | uint64(len(v.PluginInstance))<<16 |
		uint64(len(v.Plugin))<<24 | uint64(len(v.Host))<<32 | uint64(len(v.Kinds))<<40
}

// skip tells the cache that a list was not looked up: it must not connect the next list with the
// one before.
func (c *cache) skip() { c.table.Lose() }

// find returns the entry of v, or nil. v.changed are the names in which v may differ from the list
// before. The caller must have called find or skip for that list.
func (c *cache) find(v *ValueList) *entry {
	changed := v.changed
	last := c.table.Last()
	if n := c.table.Foreseen(); n != successor.None {
		p, e := &c.entries[last], &c.entries[n]
		if c.equal(e, v, changed|p.differs) {
			if p.differs == unknown {
				p.differs = c.differ(p, e)
			}
			c.table.Found(n)
			return e
		}
	}
	h := c.sum(v)
	for i := c.table.First(h); i != successor.None; i = c.table.More(h) {
		e := &c.entries[i]
		if e.sizes != sizes(v) || !bytes.Equal(c.keys.At(e.key)[:len(c.key)], c.key) {
			continue
		}
		// packets of several senders come in any order
		if last == successor.None || changed&ofFirst != 0 {
			c.table.Found(i)
			return e
		}
		c.table.Follow(i)
		p := &c.entries[last]
		p.differs = c.differ(p, e)
		return e
	}
	c.table.Lose()
	return nil
}

// sum sets c.key to the key of v, and returns its hash.
func (c *cache) sum(v *ValueList) uint32 {
	c.key = appendParts(c.key[:0], v)
	return uint32(maphash.Bytes(c.seed, c.key)^sizes(v)*0x9e3779b97f4a7c15) & c.use
}

func appendParts(dst []byte, v *ValueList) []byte {
	dst = append(append(dst, v.TypeInstance...), v.Type...)
	dst = append(append(dst, v.PluginInstance...), v.Plugin...)
	return append(append(dst, v.Host...), v.Kinds...)
}

// equal reports whether e has the key of v. It compares only the names in differ.
func (c *cache) equal(e *entry, v *ValueList, differ parts) bool {
	if e.sizes != sizes(v) {
		return false
	}
	k := c.keys.At(e.key)
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
	k, l := c.keys.At(a.key), c.keys.At(b.key)
	for i := range 5 {
		m, n := a.sizes>>(8*i)&0xff, b.sizes>>(8*i)&0xff
		if !bytes.Equal(k[:m], l[:n]) {
			d |= 1 << i
		}
		k, l = k[m:], l[n:]
	}
	return d
}

// add makes an entry for v, which has none.
func (c *cache) add(v *ValueList) *entry {
	if len(c.entries) >= c.most || c.keys.Chunks() >= successor.MaxChunks {
		c.clear()
	}
	n := c.table.Add(c.sum(v))
	c.entries = append(c.entries, entry{sizes: sizes(v), key: c.keys.Add(c.key, nil), differs: unknown})
	return &c.entries[n]
}
