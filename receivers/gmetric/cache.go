package gmetric

import (
	"hash/maphash"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
)

// A cache finds what is known of a metric by its host and name. Senders repeat themselves: they
// send the metadata of a metric, its value, then the metadata of the next metric.
//
// A full cache is emptied. It can be read back from the store.
type cache struct {
	successor.Cache[entry]
	seed maphash.Seed // of metadata and texts
}

// An entry is what is known of one metric of one host. It counts in seconds of server.second, a
// clock that never goes back.
type entry struct {
	meta uint64 // hash of the last message with metadata; 0: none has come since the start
	text uint64 // hash of the newest text that was handed over
	receivers.Series

	seen uint32 // second of the last value; before the first value, of the metadata
	dmax uint32 // from the metadata: seconds of silence after which the metric expires; 0: never
	due  uint32 // second from which a text is handed over again although it is the same

	typ   Type
	flags flags
}

type flags uint8

const (
	known flags = 1 << iota // there is metadata: sent, stored or assumed
	asked                   // the store was asked for the metadata; Series.Why says why not
	gone                    // the metric has expired, and so has the metadata in the store
	beats                   // the metric is the heartbeat
)

func (e *entry) is(f flags) bool { return e.flags&f != 0 }

const (
	cacheEntries = 1 << 21 // entries at most: about 300 MB with keys of 32 bytes
	maxChunks    = 1 << 8  // MiB of keys at most
)

func newCache(most int) *cache {
	return &cache{Cache: successor.NewCache[entry](most, maxChunks), seed: maphash.MakeSeed()}
}

// restart forgets all entries. keep brings one back, and returns its new number.
func (c *cache) restart() (keep func(i uint32) (now uint32)) {
	old := c.Cache
	c.Cache = successor.NewCache[entry](old.Most, old.Chunks)
	return func(i uint32) uint32 {
		host, name := old.Key(i)
		n, ok := c.Find(host, name)
		if !ok {
			n = c.Add(host, name)
			*c.At(n) = *old.At(i)
		}
		return n
	}
}
