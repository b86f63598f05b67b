package receivers

import (
	"slices"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sockets"
)

// A Reason is why something that arrived was not stored. Truncated to State are the classes of
// errors that docs/wire names for each protocol.
type Reason uint8

// The reasons.
const (
	Truncated   Reason = iota // the input ends inside an element
	Malformed                 // a length, code, padding or text contradicts the format
	Unsupported               // well formed, but a version, message or type not known
	Auth                      // unknown user, wrong signature or password, security level not met
	Checksum                  // a checksum does not match
	Limit                     // longer, deeper or more than a limit; too many new series
	State                     // well formed, but not here: context, time or series do not fit
	Late                      // not after the last sample of its series
	Overload                  // the store did not keep up
	Failed                    // the store returned an error
	Foreign                   // a connection spoke HTTP or TLS

	NumReasons
)

var reasonNames = [NumReasons]string{
	"truncated", "malformed", "unsupported", "auth", "checksum", "limit", "state", "late", "overload", "failed", "foreign",
}

// String returns the reason as it stands in /metrics.
func (r Reason) String() string {
	if r >= NumReasons {
		return "unknown"
	}
	return reasonNames[r]
}

// Stats is a snapshot of a receiver's counters. They begin with 0 when the receiver is made.
type Stats struct {
	Packets uint64 // datagrams, messages or files read
	Bytes   uint64 // in them
	Samples uint64 // handed to the store
	Values  uint64 // in these samples
	Notes   uint64 // events that are not numbers
	// Dropped counts drops by Reason: samples if their number is known, else one for the rest of a
	// packet. Late, State, Overload and Failed may count samples that Samples counts too.
	Dropped [NumReasons]uint64
	// KernelDropped counts datagrams lost because the socket's buffer was full.
	KernelDropped uint64
	// Connections is how many peers are connected now; 0 for datagrams.
	Connections int64
	// Series is how many series the receiver holds references of.
	Series int64
}

// Counters counts what a receiver does. The zero value is ready; it may be used concurrently.
type Counters struct {
	sockets.Traffic
	Samples, Values, Notes atomic.Uint64
	Series                 atomic.Int64

	dropped [NumReasons]atomic.Uint64
}

// Drop counts n drops for the reason r.
func (c *Counters) Drop(r Reason, n uint64) { c.dropped[r].Add(n) }

// lose counts what the sink has not stored of a batch of n samples because of err. It returns how
// many the sink has failed to store, and whether it has refused the reference of a series.
func (c *Counters) lose(err error, n int) (missing int, stale bool) {
	rejected, missing := LossOf(err, n)
	if missing > 0 {
		c.Drop(FailureReason(err), uint64(missing))
	}
	if rejected == nil {
		return missing, false
	}
	c.Drop(Late, uint64(rejected.Late))
	c.Drop(State, uint64(rejected.Other))
	return missing, slices.ContainsFunc(rejected.First, core.Rejection.Gone)
}

// Stats returns a snapshot.
func (c *Counters) Stats() Stats {
	s := Stats{
		Packets:       c.Packets.Load(),
		Bytes:         c.Bytes.Load(),
		Samples:       c.Samples.Load(),
		Values:        c.Values.Load(),
		Notes:         c.Notes.Load(),
		KernelDropped: c.KernelDropped.Load(),
		Connections:   c.Connections.Load(),
		Series:        c.Series.Load(),
	}
	for i := range s.Dropped {
		s.Dropped[i] = c.dropped[i].Load()
	}
	s.Dropped[Limit] += c.Traffic.Refused.Load()
	s.Dropped[Foreign] += c.Traffic.Foreign.Load()
	return s
}
