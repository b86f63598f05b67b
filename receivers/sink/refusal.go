package sink

import (
	"errors"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// A Refusal is why a series, or metadata of a path, was not made.
type Refusal uint8

// The refusals.
const (
	RefusedSender  Refusal = iota // its sender has made too many series lately
	RefusedSeries                 // the store has as many series as it may have
	RefusedInvalid                // the path, the labels or the definition are not valid

	numRefusals
)

var refusalNames = [numRefusals]string{"sender_limit", "series_limit", "invalid"}

// String returns the refusal as it stands in /metrics.
func (r Refusal) String() string {
	if r >= numRefusals {
		return "unknown"
	}
	return refusalNames[r]
}

// A refusalCount counts refusals by Refusal. It may be used concurrently.
type refusalCount [numRefusals]atomic.Uint64

// count counts the refusal that err stands for.
func (c *refusalCount) count(err error) {
	r := RefusedInvalid
	switch {
	case errors.Is(err, receivers.ErrSenderLimit):
		r = RefusedSender
	case errors.Is(err, core.ErrSeriesLimit):
		r = RefusedSeries
	}
	c[r].Add(1)
}
