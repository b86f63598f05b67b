package sink

import (
	"errors"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// A Refusal is why a series, or metadata of a path, was not made.
type Refusal uint8

// The refusals.
const (
	RefusedSender Refusal = iota // its sender has made too many lately
	RefusedSeries                // the store has as many as it may have
	// its name, or what the sender or the policy says of it, makes no series
	RefusedInvalid

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

// Stats is a snapshot of what a Sink has made.
type Stats struct {
	// Made is how many series were made.
	Made uint64
	// Refused counts by Refusal how often one was not; a sender that tries again is counted again.
	Refused [numRefusals]uint64
	// Senders is how many senders there are whose allowance is kept apart.
	Senders int
}

// Stats returns a snapshot.
func (s *Sink) Stats() Stats {
	st := Stats{Made: s.made.Load()}
	for i := range st.Refused {
		st.Refused[i] = s.refused[i].Load()
	}
	st.Senders = s.allowed.senders()
	return st
}

// refuse counts err.
func (s *Sink) refuse(err error) {
	r := RefusedInvalid
	switch {
	case errors.Is(err, receivers.ErrSenderLimit):
		r = RefusedSender
	case errors.Is(err, core.ErrSeriesLimit):
		r = RefusedSeries
	}
	s.refused[r].Add(1)
}
