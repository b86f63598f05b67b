package graphite

import (
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
)

// A cache finds the series of a name by the bytes of the name. All connections and datagrams share
// it. Senders repeat themselves, each in an order of its own: after the first name of a read, the
// next ones are foreseen.
//
// A full cache is emptied; series are asked for again when they are needed.
type cache struct {
	successor.Cache[receivers.Series]
	refs   int64 // entries that have a reference
	absent int   // bytes of the other names, about
}

const (
	cacheEntries = 1 << 21 // entries at most: about 250 MB with names of 64 bytes
	maxChunks    = 1 << 8  // MiB of names at most
	// maxAbsent is how much the names without a series may take. Whoever makes up names must not
	// make the cache large.
	maxAbsent  = 16 << 20
	entryBytes = 64
)

func newCache(most int) *cache {
	return &cache{Cache: successor.NewCache[receivers.Series](most, maxChunks)}
}

// clear forgets everything.
func (c *cache) clear() {
	c.Clear()
	c.refs, c.absent = 0, 0
}

// find returns where the values of a name go; nil: that is not known.
func (c *cache) find(name []byte) *receivers.Series {
	if i, ok := c.Find(nil, name); ok {
		return c.At(i)
	}
	c.Lose()
	return nil
}

// set remembers where the values of a name go.
func (c *cache) set(name []byte, x receivers.Series) {
	e := c.find(name)
	if e == nil {
		if x.Ref == 0 {
			if c.absent += len(name) + entryBytes; c.absent > maxAbsent {
				c.clear()
			}
		}
		if c.Full() {
			c.clear()
		}
		e = c.At(c.Add(nil, name))
	}
	if e.Ref == 0 && x.Ref != 0 {
		c.refs++
	}
	if e.Ref != 0 && x.Ref == 0 {
		c.refs--
	}
	*e = x
}
