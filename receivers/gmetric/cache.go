package gmetric

import (
	"bytes"
	"hash/maphash"
	"iter"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// The cache holds what is known of a metric by host and name. Senders repeat themselves: metadata, its value, the
// next metric's metadata. So a look-up tries the entry of the last one and the one that came after it last time
// before the table. Keys and entries hold no pointers: a million of them cost the garbage collector nothing.
//
// What it held can all be read back from the store, so when it is full it starts over.
type cache struct {
	seed    maphash.Seed
	slots   []uint32 // open addressing; 0 is free, else 1 + index into entries
	entries []entry
	chunks  [][]byte // the bytes of keys; one never crosses chunks
	last    uint32   // entry of the last look-up that hit
	most    int      // entries
}

// An entry is one metric of one host. Seconds are of the server's own clock, which only moves on.
type entry struct {
	hash uint64
	meta uint64 // hash of the last message with metadata; 0: none since the start
	text uint64 // hash of the newest text that was handed over
	ref  core.Ref

	key        uint32 // chunk, and offset in it in units of keyAlign
	next       uint32 // entry that came after this one last time
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
	chunkBits    = 20
	chunkBytes   = 1 << chunkBits
	keyAlign     = 16
	maxChunks    = 1 << 8 // chunks: 256 MB of keys
	chunkShift   = chunkBits - 4
)

func newCache(most int) *cache {
	return &cache{seed: maphash.MakeSeed(), slots: make([]uint32, 1024), most: most}
}

func (c *cache) len() int { return len(c.entries) }

// full reports whether it is time for a restart.
func (c *cache) full() bool { return len(c.entries) >= c.most || len(c.chunks) >= maxChunks }

// restart forgets all entries but those of which keep is told, and tells it what they are from now on.
func (c *cache) restart(keep iter.Seq2[uint32, func(now uint32)]) {
	old := *c
	clear(c.slots)
	c.entries, c.chunks, c.last = nil, nil, 0
	for i, tell := range keep {
		e := old.entries[i]
		host, name := old.key(i)
		n, _, ok := c.find(host, name)
		if !ok {
			n = c.add(host, name, e.hash)
			at := &c.entries[n]
			e.key, e.next = at.key, at.next
			*at = e
		}
		tell(n)
	}
}

// find returns the index of the entry of a metric, and the hash of its key.
func (c *cache) find(host, name []byte) (i uint32, hash uint64, ok bool) {
	h := mix(maphash.Bytes(c.seed, host), maphash.Bytes(c.seed, name))
	if int(c.last) < len(c.entries) {
		if c.equal(c.last, h, host, name) {
			return c.last, h, true
		}
		if n := c.entries[c.last].next; int(n) < len(c.entries) && c.equal(n, h, host, name) {
			c.last = n
			return n, h, true
		}
	}
	mask := uint64(len(c.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := c.slots[i]
		if s == 0 {
			return 0, h, false
		}
		if c.equal(s-1, h, host, name) {
			c.entries[c.last].next = s - 1
			c.last = s - 1
			return s - 1, h, true
		}
	}
}

func (c *cache) equal(i uint32, h uint64, host, name []byte) bool {
	e := &c.entries[i]
	if e.hash != h || int(e.host) != len(host) || int(e.name) != len(name) {
		return false
	}
	k := c.bytes(e)
	return bytes.Equal(k[:len(host)], host) && bytes.Equal(k[len(host):len(host)+len(name)], name)
}

// bytes returns the bytes from the key of e on.
func (c *cache) bytes(e *entry) []byte {
	return c.chunks[e.key>>chunkShift][(e.key&(1<<chunkShift-1))*keyAlign:]
}

// key returns the host and the name of entry i. They are not to be changed.
func (c *cache) key(i uint32) (host, name []byte) {
	e := &c.entries[i]
	k := c.bytes(e)
	return k[:e.host:e.host], k[e.host:][:e.name:e.name]
}

// add makes an entry, whose key has the hash h and is not there.
func (c *cache) add(host, name []byte, h uint64) uint32 {
	if 2*len(c.entries) >= len(c.slots) {
		c.grow()
	}
	n := uint32(len(c.entries))
	c.entries = append(c.entries, entry{
		hash: h, key: c.keep(host, name), next: n + 1, host: uint16(len(host)), name: uint16(len(name)),
	})
	c.place(h, n+1)
	return n
}

// keep copies a key, for which full must have said that there is room.
func (c *cache) keep(host, name []byte) uint32 {
	i := len(c.chunks) - 1
	if i < 0 || len(c.chunks[i])+len(host)+len(name)+keyAlign > chunkBytes {
		i++
		c.chunks = append(c.chunks, make([]byte, 0, chunkBytes))
	}
	at := len(c.chunks[i])
	b := append(append(c.chunks[i], host...), name...)
	c.chunks[i] = b[:(len(b)+keyAlign-1)&^(keyAlign-1)]
	return uint32(i)<<chunkShift | uint32(at/keyAlign)
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
