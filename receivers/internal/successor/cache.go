package successor

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// A Cache keeps an E for each key, by number. A key is two byte strings, shorter than 64 KiB each;
// a key of one has an empty first one. NewCache makes a Cache. While one goroutine changes it, no
// other uses it.
//
// A full cache is emptied by its owner: what it holds can be asked for again.
type Cache[E any] struct {
	Table
	Most   int // entries from which on it is full
	Chunks int // MiB of keys from which on it is full, at most MaxChunks

	seed    maphash.Seed
	keys    Keys
	entries []entry[E]
}

type entry[E any] struct {
	place uint32 // of the key in keys
	a, b  uint16 // lengths of its two parts
	value E
}

// NewCache returns a Cache that is full at a number of entries, or of MiB of keys.
func NewCache[E any](most, chunks int) Cache[E] {
	return Cache[E]{Most: most, Chunks: chunks, seed: maphash.MakeSeed()}
}

// Full reports whether the cache is to be emptied.
func (c *Cache[E]) Full() bool { return len(c.entries) >= c.Most || c.keys.Chunks() >= c.Chunks }

// Clear forgets all keys, and keeps the memory.
func (c *Cache[E]) Clear() {
	c.Table.Clear()
	c.keys.Clear()
	clear(c.entries)
	c.entries = c.entries[:0]
}

// At returns what is kept of key i, until the next Add.
func (c *Cache[E]) At(i uint32) *E { return &c.entries[i].value }

// Key returns the parts of key i. They are not to be changed.
func (c *Cache[E]) Key(i uint32) (a, b []byte) {
	e := &c.entries[i]
	k := c.keys.At(e.place)
	return k[:e.a:e.a], k[e.a:][:e.b:e.b]
}

// Is reports whether key i consists of a and b.
func (c *Cache[E]) Is(i uint32, a, b []byte) bool {
	e := &c.entries[i]
	if int(e.a) != len(a) || int(e.b) != len(b) {
		return false
	}
	k := c.keys.At(e.place)
	switch len(a) {
	case 0:
	case 4: // as a number, which is faster
		if binary.LittleEndian.Uint32(k) != binary.LittleEndian.Uint32(a) {
			return false
		}
	default:
		if !bytes.Equal(k[:len(a)], a) {
			return false
		}
	}
	return bytes.Equal(k[len(a):len(a)+len(b)], b)
}

// Find returns the number of a key. It tries the one that is foreseen first.
func (c *Cache[E]) Find(a, b []byte) (i uint32, ok bool) {
	if i := c.Foreseen(); i != None && c.Is(i, a, b) {
		c.Found(i)
		return i, true
	}
	if i, ok = c.Lookup(a, b); ok {
		c.Follow(i)
	}
	return i, ok
}

// FindAgain is Find for keys that come several times in a row: it tries the one that was found last
// first.
func (c *Cache[E]) FindAgain(a, b []byte) (i uint32, ok bool) {
	if i := c.Last(); i != None && c.Is(i, a, b) {
		return i, true
	}
	return c.Find(a, b)
}

// Lookup returns the number of a key. It does not note that the key was found: several goroutines
// may look keys up at a time.
func (c *Cache[E]) Lookup(a, b []byte) (i uint32, ok bool) {
	h := c.hash(a, b)
	for i, at := c.Probe(h, h); i != None; i, at = c.Probe(h, at) {
		if c.Is(i, a, b) {
			return i, true
		}
	}
	return None, false
}

// Add makes an entry for a key that has none, and returns its number. The key counts as found.
func (c *Cache[E]) Add(a, b []byte) uint32 {
	i := c.Table.Add(c.hash(a, b))
	c.Follow(i)
	c.entries = append(c.entries, entry[E]{place: c.keys.Add(a, b), a: uint16(len(a)), b: uint16(len(b))})
	return i
}

func (c *Cache[E]) hash(a, b []byte) uint32 {
	h := maphash.Bytes(c.seed, b)
	if len(a) > 0 {
		hi, lo := bits.Mul64(h^maphash.Bytes(c.seed, a)*0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		h = hi ^ lo
	}
	return uint32(h)
}

const (
	chunkBits  = 20
	chunkBytes = 1 << chunkBits
	keyAlign   = 16
	// placeShift is how many low bits of a place say where in its chunk a key begins, in units of
	// keyAlign. The other bits are the number of the chunk.
	placeShift = chunkBits - 4
)

// MaxChunks is how many chunks of 1 MiB Keys can have at most.
const MaxChunks = 1 << (32 - placeShift)

// Keys holds the bytes of keys in a few large pieces of memory. The zero value is ready.
type Keys struct {
	chunks [][]byte // a key never crosses chunks
}

// Chunks returns how many chunks of 1 MiB the keys take. The owner must call Clear at the latest
// when there are MaxChunks.
func (k *Keys) Chunks() int { return len(k.chunks) }

// Add copies a key, whose bytes are a and then b, and returns its place. A key must be shorter than
// 1 MiB.
func (k *Keys) Add(a, b []byte) (place uint32) {
	i := len(k.chunks) - 1
	if i < 0 || len(k.chunks[i])+len(a)+len(b)+keyAlign > chunkBytes {
		i++
		if i < cap(k.chunks) && k.chunks[:i+1][i] != nil {
			k.chunks = k.chunks[:i+1] // one from before Clear
			k.chunks[i] = k.chunks[i][:0]
		} else {
			k.chunks = append(k.chunks, make([]byte, 0, chunkBytes))
		}
	}
	at := len(k.chunks[i])
	c := append(append(k.chunks[i], a...), b...)
	k.chunks[i] = c[:(len(c)+keyAlign-1)&^(keyAlign-1)]
	return uint32(i)<<placeShift | uint32(at/keyAlign)
}

// At returns the key at a place, followed by other bytes: it does not know where the key ends.
func (k *Keys) At(place uint32) []byte {
	return k.chunks[place>>placeShift][(place&(1<<placeShift-1))*keyAlign:]
}

// Clear removes all keys and keeps the memory.
func (k *Keys) Clear() { k.chunks = k.chunks[:0] }
