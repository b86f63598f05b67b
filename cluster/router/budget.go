package router

import (
	"fmt"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/core"
)

// A budget is the memory that shares take together, in bytes.
type budget struct {
	most int64
	used atomic.Int64
}

// share returns a share of nothing yet.
func (b *budget) share() *core.MemoryShare {
	return core.NewMemoryShare(b.most, func(from, to int64) error {
		if used := b.used.Add(to - from); to > from && used > b.most {
			b.used.Add(from - to)
			return fmt.Errorf("%w: %d bytes are needed, %d are free", core.ErrMemory, to-from, b.most-used+to-from)
		}
		return nil
	})
}
