package rrdcached

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// Names are looked up once, and then remembered as clients write them. Most clients send their
// series in the same order again and again, so that the next name is guessed from the one before
// it, and only compared.

// An entry is one name of a series as clients write it.
type entry struct {
	next  atomic.Pointer[entry] // what was asked for after it the last time
	raw   string                // with its backslashes
	ref   core.Ref
	kinds []rra.Kind  // of the data sources that a sample has values for
	ended atomic.Bool // the series has
	born  uint64      // how many entries were dropped before it was made
	path  string
	d     *rra.Definition // does not change: an altered series has another reference
}

// A cache remembers names. A reference in it may have ended: the store says so when it is used.
type cache struct {
	most  func() int    // how many names may be remembered
	drops atomic.Uint64 // entries whose series has ended

	mu        sync.RWMutex // guards what follows
	m         map[string]*entry
	limit     int // what most said last
	kinds     map[*rra.Definition][]rra.Kind
	suspended map[string]struct{} // paths
	renames   uint64              // of the store, when the map was last emptied
	// Entries and names that come one after the other lie so, too: they are looked at in this
	// order.
	spare []entry
	names strings.Builder
}

const (
	spareEntries = 256
	spareBytes   = 16 << 10
)

// keep returns a copy of a name.
func (c *cache) keep(raw []byte) string {
	if c.names.Len()+len(raw) > c.names.Cap() {
		c.names = strings.Builder{}
		c.names.Grow(max(spareBytes, len(raw)))
	}
	n := c.names.Len()
	c.names.Write(raw)
	return c.names.String()[n:]
}

func newCache(most func() int) *cache {
	c := &cache{most: most, suspended: make(map[string]struct{})}
	c.reset()
	return c
}

func (c *cache) reset() {
	c.m, c.kinds = make(map[string]*entry), make(map[*rra.Definition][]rra.Kind)
}

// get returns the entry of a name, or nil.
func (c *cache) get(raw []byte) *entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.m[string(raw)]
}

// put remembers a name, unless series were renamed since renames was read, before it was looked up.
func (c *cache) put(renames uint64, raw []byte, path string, ref core.Ref, d *rra.Definition) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= c.limit {
		if c.limit = c.most(); len(c.m) >= c.limit {
			c.reset() // somebody makes names up: those that are used come back
		}
	}
	kinds, ok := c.kinds[d]
	if !ok {
		for i := range d.Sources {
			if k := d.Sources[i].Kind; k != rra.Compute {
				kinds = append(kinds, k)
			}
		}
		if len(c.kinds) >= maxKinds {
			clear(c.kinds)
		}
		c.kinds[d] = kinds
	}
	if len(c.spare) == 0 {
		c.spare = make([]entry, spareEntries)
	}
	e := &c.spare[0]
	c.spare = c.spare[1:]
	e.raw, e.path, e.ref, e.d, e.kinds, e.born = c.keep(raw), path, ref, d, kinds, c.drops.Load()
	if e.raw == path {
		e.path = e.raw
	}
	if c.renames == renames {
		c.m[e.raw] = e
	}
	return e
}

// maxKinds bounds the definitions whose kinds are shared.
const maxKinds = 4096

// drop forgets an entry whose series has ended.
func (c *cache) drop(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m[e.raw] == e {
		delete(c.m, e.raw)
	}
	if !e.ended.Swap(true) {
		c.drops.Add(1)
	}
}

// follow empties the cache if series were renamed since: their references are other paths' now.
func (c *cache) follow(renames uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renames < renames { // else another has seen more of them
		c.reset()
		c.renames = renames
	}
}

// suspend notes that a path is suspended, or is not, and reports whether that is new.
func (c *cache) suspend(path string, on bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, was := c.suspended[path]; was == on {
		return false
	}
	if on {
		c.suspended[path] = struct{}{}
	} else {
		delete(c.suspended, path)
	}
	return true
}

// suspendAll suspends all paths that are remembered, or none, and returns how many changed.
func (c *cache) suspendAll(on bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.suspended)
	if !on {
		clear(c.suspended)
		return before
	}
	for _, e := range c.m {
		c.suspended[e.path] = struct{}{}
	}
	return len(c.suspended) - before
}

func (c *cache) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.m)
}
