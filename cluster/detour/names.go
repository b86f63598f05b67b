package detour

import (
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/core"
)

// nameChunk is of how many successive references the paths stand together.
const nameChunk = 1 << 8

// names are the paths of references, as those who resolved them got them. To look takes no lock.
type names struct {
	most   int64
	count  atomic.Int64
	chunks sync.Map // uint64, a reference without its low bits → *[nameChunk]atomic.Pointer[string]
}

// put remembers the path of a reference, unless there are too many.
func (x *names) put(ref core.Ref, path string) {
	if ref == 0 {
		return
	}
	key := uint64(ref) / nameChunk
	c, ok := x.chunks.Load(key)
	if !ok {
		if x.count.Load() >= x.most {
			return
		}
		c, _ = x.chunks.LoadOrStore(key, new([nameChunk]atomic.Pointer[string]))
	}
	slot := &c.(*[nameChunk]atomic.Pointer[string])[ref%nameChunk]
	was := slot.Load()
	if was != nil && *was == path {
		return
	}
	if was == nil && x.count.Add(1) > x.most {
		x.count.Add(-1)
		return
	}
	slot.Store(&path)
}

// get returns the path of a reference; empty: it is not known.
func (x *names) get(ref core.Ref) string {
	c, ok := x.chunks.Load(uint64(ref) / nameChunk)
	if !ok {
		return ""
	}
	if path := c.(*[nameChunk]atomic.Pointer[string])[ref%nameChunk].Load(); path != nil {
		return *path
	}
	return ""
}
