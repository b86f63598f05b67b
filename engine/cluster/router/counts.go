package router

import (
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// counts are the counters of all partitions as they were read last. A partition that cannot be
// reached keeps what it had.
type counts struct {
	mu      sync.Mutex // guards what follows
	stats   []core.Stats
	newest  []rra.Time
	renames []uint64
	damaged []int64
}

func (c *counts) init(n int) {
	c.stats, c.newest = make([]core.Stats, n), make([]rra.Time, n)
	c.renames, c.damaged = make([]uint64, n), make([]int64, n)
}
