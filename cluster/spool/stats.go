package spool

import (
	"errors"
	"sync/atomic"
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

// reasonOf returns the reason for an error of reserve.
func reasonOf(err error) Reason {
	if errors.Is(err, ErrNewSeries) {
		return NewSeries
	}
	return Full
}

// Stats say what a spool holds, and what it did since it was opened.
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

type counters struct {
	spooled, delivered, late, setAside atomic.Uint64
	dropped                            [Reasons]atomic.Uint64
}

func (c *counters) drop(r Reason, n int) { c.dropped[r].Add(uint64(n)) }

func (c *counters) fill(s *Stats) {
	s.Spooled, s.Delivered, s.Late, s.SetAside = c.spooled.Load(), c.delivered.Load(), c.late.Load(), c.setAside.Load()
	for r := range c.dropped {
		s.Dropped[r] = c.dropped[r].Load()
	}
}
