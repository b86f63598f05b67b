package detour

import (
	"sync"
	"time"
)

// A Reason says why a sample was dropped.
type Reason int

const (
	// Full: the spool had no room.
	Full Reason = iota
	// NewSeries: the spool was so full that it took samples of existing series only.
	NewSeries
	// Disk: the disk did not take the sample, or the spool was closed.
	Disk
	// Refused: the series could not be made, does not exist, or refused the sample for another
	// reason than its time.
	Refused
	// NoSpool: there is no spool.
	NoSpool
	// NoName: the path of the series was not known, and could not be asked for.
	NoName

	Reasons // how many there are
)

// String returns the name of the reason in metrics.
func (r Reason) String() string {
	return [...]string{"full", "new_series", "disk", "refused", "no_spool", "no_name"}[r]
}

// Stats say what the spool holds, and what it did since it was opened.
type Stats struct {
	Bytes, Capacity int64
	Partitions      int           // that have samples here
	Oldest          time.Duration // since the oldest sample came

	Spooled   uint64          // samples
	Delivered uint64          // samples that their series took
	Late      uint64          // samples that were not after the last update of their series
	Dropped   [Reasons]uint64 // samples, by Reason
	SetAside  uint64          // partitions whose log was damaged
}

// counters are Stats that may be changed concurrently.
type counters struct {
	mu    sync.Mutex // guards stats
	stats Stats
}

func (c *counters) count(change func(st *Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

// drop counts samples that were dropped.
func (c *counters) drop(why Reason, n int) {
	c.count(func(st *Stats) { st.Dropped[why] += uint64(n) })
}
