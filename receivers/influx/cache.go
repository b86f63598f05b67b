package influx

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
)

// A cache finds the series of a field by the bytes that were sent: the key of its line, in its
// database, and its own name. Senders repeat themselves, so a look-up first tries the key that was
// found last, then the one that followed it the last time, and only then the hash table; fields
// alike. A full cache is emptied. It holds no pointers for each entry.
type cache struct {
	keyTable   successor.Table
	keys       []keyEntry // by their numbers in keyTable
	fieldTable successor.Table
	fields     []fieldEntry // by their numbers in fieldTable
	bytes      successor.Keys
	seed       maphash.Seed
	most       int // entries of fields
}

// A keyEntry is a key that has come, in a database.
type keyEntry struct {
	place    uint32 // of the bytes: database, key
	database uint16 // bytes of the database's name
	key      uint16 // bytes of the key
}

// A fieldEntry is the series of a field of a key.
type fieldEntry struct {
	receivers.Series
	key   uint32 // number of the key's entry
	place uint32 // of the name
	name  uint16 // bytes of the name
}

const (
	cacheFields = 1 << 21
	maxChunks   = 1 << 9 // of 1 MiB, with keys and names
)

func newCache(most int) *cache { return &cache{seed: maphash.MakeSeed(), most: most} }

// len returns how many fields are known.
func (c *cache) len() int { return len(c.fields) }

// clear forgets everything.
func (c *cache) clear() {
	c.keyTable.Clear()
	c.fieldTable.Clear()
	c.keys, c.fields = c.keys[:0], c.fields[:0]
	c.bytes.Clear()
}

// full reports whether it is time for clear.
func (c *cache) full() bool {
	return len(c.fields) >= c.most || len(c.keys) >= c.most || c.bytes.Chunks() >= maxChunks
}

// mix makes one hash of two.
func mix(a, b uint64) uint32 {
	hi, lo := bits.Mul64(a^b*0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return uint32(hi ^ lo)
}

// findKey returns the number of a key, and its hash.
func (c *cache) findKey(database string, key []byte) (i, hash uint32, ok bool) {
	if i := c.keyTable.Last(); i != successor.None && c.isKey(i, database, key) {
		return i, 0, true
	}
	if i := c.keyTable.Foreseen(); i != successor.None && c.isKey(i, database, key) {
		c.keyTable.Found(i)
		return i, 0, true
	}
	h := mix(maphash.Bytes(c.seed, key), maphash.String(c.seed, database))
	for i := c.keyTable.First(h); i != successor.None; i = c.keyTable.More(h) {
		if c.isKey(i, database, key) {
			c.keyTable.Follow(i)
			return i, h, true
		}
	}
	return 0, h, false
}

// isKey reports whether entry i belongs to a key.
func (c *cache) isKey(i uint32, database string, key []byte) bool {
	e := &c.keys[i]
	if int(e.key) != len(key) || int(e.database) != len(database) {
		return false
	}
	b := c.bytes.At(e.place)
	return string(b[:len(database)]) == database && bytes.Equal(b[len(database):][:len(key)], key)
}

// addKey makes an entry for a key that has none. h is the hash from findKey.
func (c *cache) addKey(database string, key []byte, h uint32) uint32 {
	i := c.keyTable.Add(h)
	c.keyTable.Follow(i)
	c.keys = append(c.keys, keyEntry{
		place: c.bytes.Add([]byte(database), key), database: uint16(len(database)), key: uint16(len(key)),
	})
	return i
}

// findField returns the number of a field of a key.
func (c *cache) findField(key uint32, name []byte) (i, hash uint32, ok bool) {
	if i := c.fieldTable.Foreseen(); i != successor.None && c.isField(i, key, name) {
		c.fieldTable.Found(i)
		return i, 0, true
	}
	h := mix(maphash.Bytes(c.seed, name), uint64(key)+1)
	for i := c.fieldTable.First(h); i != successor.None; i = c.fieldTable.More(h) {
		if c.isField(i, key, name) {
			c.fieldTable.Follow(i)
			return i, h, true
		}
	}
	return 0, h, false
}

// isField reports whether entry i belongs to a field of a key.
func (c *cache) isField(i, key uint32, name []byte) bool {
	e := &c.fields[i]
	return e.key == key && int(e.name) == len(name) && bytes.Equal(c.bytes.At(e.place)[:len(name)], name)
}

// addField makes an entry for a field that has none. h is the hash from findField.
func (c *cache) addField(key uint32, name []byte, h uint32) uint32 {
	i := c.fieldTable.Add(h)
	c.fieldTable.Follow(i)
	c.fields = append(c.fields, fieldEntry{key: key, place: c.bytes.Add(name, nil), name: uint16(len(name))})
	return i
}
