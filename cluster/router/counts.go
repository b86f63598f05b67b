package router

import (
	"sync"

	"github.com/rondo-db/rondo/engine/core"
)

// counts are the counters of all partitions as they were read last. A partition that cannot be
// reached keeps what it had.
type counts struct {
	mu      sync.Mutex // guards what follows
	stats   []core.Stats
	renames []uint64
}

func (c *counts) init(n int) {
	c.stats, c.renames = make([]core.Stats, n), make([]uint64, n)
}
