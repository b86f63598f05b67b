package gmetric

import (
	"bytes"
	"hash/maphash"
	"iter"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
	"github.com/rondo-db/rondo/rra"
)

// The cache holds what is known of a metric by host and name. Senders repeat themselves: metadata,
// its value, the next metric's metadata. So a look-up tries the entry of the last one, and then the
// one that is foreseen after it.
//
// What it held can all be read back from the store, so when it is full it starts over.
type cache struct {
	table   successor.Table
	entries []entry // by their numbers in table
	keys    successor.Keys
	seed    maphash.Seed
	most    int // entries
}

// An entry is one metric of one host. Seconds are of the server's own clock, which only moves on.
type entry struct {
	meta uint64 // hash of the last message with metadata; 0: none since the start
	text uint64 // hash of the newest text that was handed over
	ref  core.Ref

	key        uint32 // where it stands in keys
	host, name uint16 // bytes of the key

	seen uint32 // second of the last value; before the first, of the metadata
	dmax uint32
	due  uint32 // second from which a text is handed over again though it is the same
	wait uint32 // second until which a series that was refused is not asked for

	typ   Type
	kind  rra.Kind // of the series, once there is a ref
	why   receivers.Reason
	flags flags
}

type flags uint8

const (
	known flags = 1 << iota // there is metadata, sent, stored or assumed
	asked                   // the store was asked for some
	gone                    // it has expired: what the store has is as old
	beats                   // it is the heartbeat
)

func (e *entry) is(f flags) bool { return e.flags&f != 0 }

const (
	cacheEntries = 1 << 21 // default bound: with keys of 32 bytes about 300 MB
	maxChunks    = 1 << 8  // chunks of keys: 256 MB
)

func newCache(most int) *cache { return &cache{seed: maphash.MakeSeed(), most: most} }

func (c *cache) len() int { return len(c.entries) }

// full reports whether it is time for a restart.
func (c *cache) full() bool { return len(c.entries) >= c.most || c.keys.Chunks() >= maxChunks }

// restart forgets all entries but those of which keep is told, and tells it what they are from now
// on.
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

// equal reports whether entry i is that of a metric whose key has the hash h.
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

// add makes an entry, whose key has the hash h and is not there.
func (c *cache) add(host, name []byte, h uint32) uint32 {
	n := c.table.Add(h)
	c.entries = append(c.entries, entry{key: c.keys.Add(host, name), host: uint16(len(host)), name: uint16(len(name))})
	return n
}
