package gmetric

import (
	"bytes"
	"hash/maphash"
	"iter"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
)

// A cache finds what is known of a metric by its host and name. Senders repeat themselves: they
// send the metadata of a metric, its value, then the metadata of the next metric. So a look-up
// first tries the entry that was found last, then the one that followed it the last time, and only
// then the hash table.
//
// A full cache is emptied. It can be read back from the store.
type cache struct {
	table   successor.Table
	entries []entry // by their numbers in table
	keys    successor.Keys
	seed    maphash.Seed
	most    int // entries
}

// An entry is what is known of one metric of one host. Its seconds are those of server.second, a
// clock that never goes back.
type entry struct {
	meta uint64 // hash of the last message with metadata; 0: none has come since the start
	text uint64 // hash of the newest text that was handed over
	receivers.Series

	key        uint32 // place of the key in keys
	host, name uint16 // lengths of the two parts of the key, in bytes

	seen uint32 // second of the last value; before the first value, of the metadata
	dmax uint32 // from the metadata: seconds of silence after which the metric expires; 0: never
	due  uint32 // second from which a text is handed over again although it is the same

	typ   Type
	flags flags
}

type flags uint8

const (
	known flags = 1 << iota // there is metadata: sent, stored or assumed
	asked                   // the store was asked for the metadata
	gone                    // the metric has expired, and so has the metadata in the store
	beats                   // the metric is the heartbeat
)

func (e *entry) is(f flags) bool { return e.flags&f != 0 }

const (
	cacheEntries = 1 << 21 // entries at most: about 300 MB with keys of 32 bytes
	maxChunks    = 1 << 8  // chunks of keys at most: 256 MB
)

func newCache(most int) *cache { return &cache{seed: maphash.MakeSeed(), most: most} }

func (c *cache) len() int { return len(c.entries) }

// full reports whether it is time for a restart.
func (c *cache) full() bool { return len(c.entries) >= c.most || c.keys.Chunks() >= maxChunks }

// restart forgets all entries except those that keep yields. With each, keep yields a function that
// is called with the entry's new number.
func (c *cache) restart(keep iter.Seq2[uint32, func(now uint32)]) {
	old := *c
	c.table.Clear()
	c.entries, c.keys = nil, successor.Keys{}
	for i, tell := range keep {
		e := old.entries[i]
		host, name := old.key(i)
		n, h, ok := c.find(host, name)
		if !ok {
			n = c.add(host, name, h)
			e.key = c.entries[n].key
			c.entries[n] = e
		}
		tell(n)
	}
}

// find returns the number of the entry of a metric, and the hash of its key.
func (c *cache) find(host, name []byte) (i, hash uint32, ok bool) {
	h := uint32(mix(maphash.Bytes(c.seed, host), maphash.Bytes(c.seed, name)))
	if i := c.table.Last(); i != successor.None && c.equal(i, h, host, name) {
		return i, h, true
	}
	if i := c.table.Foreseen(); i != successor.None && c.equal(i, h, host, name) {
		c.table.Found(i)
		return i, h, true
	}
	for i := c.table.First(h); i != successor.None; i = c.table.More(h) {
		if c.equal(i, h, host, name) {
			c.table.Follow(i)
			return i, h, true
		}
	}
	return 0, h, false
}

// equal reports whether entry i is that of the metric, whose key has the hash h.
func (c *cache) equal(i, h uint32, host, name []byte) bool {
	if !c.table.Is(i, h) {
		return false
	}
	e := &c.entries[i]
	if int(e.host) != len(host) || int(e.name) != len(name) {
		return false
	}
	k := c.keys.At(e.key)
	return bytes.Equal(k[:len(host)], host) && bytes.Equal(k[len(host):len(host)+len(name)], name)
}

// key returns the host and the name of entry i. They are not to be changed.
func (c *cache) key(i uint32) (host, name []byte) {
	e := &c.entries[i]
	k := c.keys.At(e.key)
	return k[:e.host:e.host], k[e.host:][:e.name:e.name]
}

// add makes an entry for a metric that has none. h is the hash of its key.
func (c *cache) add(host, name []byte, h uint32) uint32 {
	n := c.table.Add(h)
	c.entries = append(c.entries, entry{key: c.keys.Add(host, name), host: uint16(len(host)), name: uint16(len(name))})
	return n
}
