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
	has := int64(0)
	return core.NewMemoryShare(func(more int64) error {
		if more > 0 {
			if n := has + more; n > b.most/shareLimit {
				return fmt.Errorf("%w: %d bytes are needed, at most %d are for this", core.ErrMemory, n, b.most/shareLimit)
			}
			if used := b.used.Add(more); used > b.most {
				b.used.Add(-more)
				return fmt.Errorf("%w: %d bytes are needed, %d are free", core.ErrMemory, more, b.most-used+more)
			}
		} else {
			b.used.Add(more)
		}
		has += more
		return nil
	})
}
