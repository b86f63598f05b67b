package rrdcached

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A name is looked up once, and then remembered in the form in which clients write it. Most clients
// send their series in the same order again and again. Each alias therefore remembers its
// successor, and the next name is only compared with that.

// An alias is one name of a series in the form in which clients write it.
type alias struct {
	next  atomic.Pointer[alias] // the alias that followed this one the last time
	raw   string                // the name with its backslashes
	ref   core.Ref
	kinds []rra.Kind  // of the data sources that a sample has values for
	ended atomic.Bool // the series has ended
	born  uint64      // cache.drops when the alias was made
	path  string
	d     *rra.Definition // never changes, because an altered series has another reference
}

// A cache remembers aliases. The series of an alias may have ended; the store says so when the
// reference is used.
type cache struct {
	most  func() int    // how many aliases may be remembered
	drops atomic.Uint64 // how often aliases were dropped: one whose series had ended, or all

	mu        sync.RWMutex // guards the fields below; put asks the store for its Stats under it
	m         map[string]*alias
	limit     int // the last result of most
	kinds     map[*rra.Definition][]rra.Kind
	suspended map[string]struct{} // paths
	renames   uint64              // of the store, when the map was last emptied
	// Aliases and names are allocated in blocks, so that those that are looked at one after the
	// other are neighbours in memory.
	spare []alias
	names strings.Builder
}

const (
	spareEntries = 256
	spareBytes   = 16 << 10
)

// keep returns a copy of a name, in the current block of names.
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

// reset drops all aliases.
func (c *cache) reset() {
	c.drops.Add(1)
	c.m, c.kinds = make(map[string]*alias), make(map[*rra.Definition][]rra.Kind)
}

// get returns the alias of a name, or nil.
func (c *cache) get(raw []byte) *alias {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.m[string(raw)]
}

// put makes an alias and remembers it. renames is the store's count of renamed series from before
// the look-up. If a series has been renamed since, the alias is returned but not remembered.
func (c *cache) put(renames uint64, raw []byte, path string, ref core.Ref, d *rra.Definition) *alias {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= c.limit {
		if c.limit = c.most(); len(c.m) >= c.limit {
			c.reset() // too many names; those in use will be looked up again
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
		c.spare = make([]alias, spareEntries)
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

// maxKinds bounds the definitions whose kinds are remembered.
const maxKinds = 4096

// drop forgets an alias whose series has ended.
func (c *cache) drop(e *alias) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m[e.raw] == e {
		delete(c.m, e.raw)
	}
	if !e.ended.Swap(true) {
		c.drops.Add(1)
	}
}

// follow empties the cache if series were renamed since it was last emptied, because a remembered
// reference may then belong to another path.
func (c *cache) follow(renames uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renames < renames { // else another connection has emptied it already
		c.reset()
		c.renames = renames
	}
}

// suspend sets whether a path is suspended, and reports whether that has changed.
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

// suspendAll suspends all remembered paths, or resumes all, and returns how many have changed.
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
