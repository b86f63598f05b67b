package core

import (
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/memory"
)

// A groupSpace is what the groups of a store share: the memory that they live in, and the counters
// that they keep. A class carries a pointer to it, so that its groups need not know the store.
type groupSpace struct {
	memory.Pool
	held       atomic.Int64  // samples in reorder windows
	loaded     atomic.Int64  // how often the state of a group was loaded
	unloaded   atomic.Int64  // how often a group has given its memory back
	rowsStored atomic.Uint64 // rows that checkpoints have written
}
