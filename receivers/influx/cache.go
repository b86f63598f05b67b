package influx

import (
	"context"
	"encoding/binary"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
	"github.com/rondo-db/rondo/rra"
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

// A fieldKey names a field by the number of its entry. In another generation of the cache the
// number is another field's.
type fieldKey struct {
	generation uint64
	field      uint32
}

// A newcomer is a value of a field without a series.
type newcomer struct {
	fieldKey
	at    rra.Time
	value rra.Value
}

// newcomer keeps a value of the line until the series of a field is resolved. r.mu is held.
func (r *reader) newcomer(field uint32, v rra.Value) {
	key := fieldKey{r.generation, field}
	i, asked := r.news.Index(key)
	if !asked {
		i = r.news.Ask(key, r.request(field))
	}
	r.news.Wait(i, newcomer{key, r.line.Time, v}, 0, r.now)
}

// resolve makes the sink find or make the series of the newcomers, and takes their values. The
// error says that the sink has failed.
func (r *reader) resolve(ctx context.Context) error {
	if r.news.Len() == 0 {
		return nil
	}
	err := r.news.Resolve(ctx, r.asks)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.news.Replay(&r.Counters, func(v *newcomer, _ int, q *receivers.Request) {
		x := q.Series(r.tick)
		if v.generation == r.generation { // the cache was not emptied meanwhile
			*r.cache.fields.At(v.field) = x
		}
		if x.Ref == 0 {
			r.bad(q.Err, 1)
			return
		}
		r.add(x.Ref, x.Kind, v.at, v.value)
	})
	return err
}

// request returns the request for the series of a field that has a value in the line. r.mu is held.
func (r *reader) request(field uint32) receivers.Request {
	database, sent, name := r.cache.sent(field)
	key, _ := ParseKey(sent) // take has looked
	sender := r.src.sender
	for _, t := range key.Tags {
		if t.Name == "host" {
			sender = receivers.LabelText(t.Value)
		}
	}
	key.With("db", string(database))
	return receivers.Request{
		Identity: Identify(key, unescape(name)),
		Sender:   sender,
		Time:     r.line.Time,
		Untyped:  true,
		Define:   r.define,
		Learn:    r.step == 0,
		Group:    prefix + "/" + key.Measurement,
	}
}
