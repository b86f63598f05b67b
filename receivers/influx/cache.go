package influx

import (
	"encoding/binary"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
)

// A cache finds the series of a field by the bytes that were sent: the key of its line, in its
// database, and its own name. Senders repeat themselves, so a look-up first tries the key that was
// found last, then the one that followed it the last time, and only then the hash table; fields
// alike. A full cache is emptied.
type cache struct {
	keys   successor.Cache[struct{}]         // by database and key
	fields successor.Cache[receivers.Series] // by number of the key, and name
	number [4]byte
}

const (
	cacheFields = 1 << 21
	maxChunks   = 1 << 8 // MiB of keys, and of names
)

func newCache(most int) *cache {
	return &cache{keys: successor.NewCache[struct{}](most, maxChunks), fields: successor.NewCache[receivers.Series](most, maxChunks)}
}

// clear forgets everything.
func (c *cache) clear() {
	c.keys.Clear()
	c.fields.Clear()
}

// full reports whether it is time for clear.
func (c *cache) full() bool { return c.keys.Full() || c.fields.Full() }

// field returns the number of a field of a key. It makes an entry for a field that has none.
func (c *cache) field(key uint32, name []byte) (i uint32, known bool) {
	binary.LittleEndian.PutUint32(c.number[:], key)
	if i, known = c.fields.Find(c.number[:], name); known {
		return i, true
	}
	return c.fields.Add(c.number[:], name), false
}

// sent returns what was sent of a field: the database, the key of the line, and the name.
func (c *cache) sent(field uint32) (database, key, name []byte) {
	number, name := c.fields.Key(field)
	database, key = c.keys.Key(binary.LittleEndian.Uint32(number))
	return database, key, name
}
