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

// shareLimit is the part of the budget that one share may take, as in a core.Store.
const shareLimit = 4

// share returns a share of nothing yet.
func (b *budget) share() *core.MemoryShare {
	return core.NewMemoryShare(func(from, to int64) error {
		if to > from && to > b.most/shareLimit {
			return fmt.Errorf("%w: %d bytes are needed, at most %d are for this", core.ErrMemory, to, b.most/shareLimit)
		}
		if used := b.used.Add(to - from); to > from && used > b.most {
			b.used.Add(from - to)
			return fmt.Errorf("%w: %d bytes are needed, %d are free", core.ErrMemory, to-from, b.most-used+to-from)
		}
		return nil
	})
}
