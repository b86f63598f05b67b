package receivers

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
)

// Errors of Request.Err, beside those of package engine.
var (
	// ErrSenderLimit says that a sender has made too many new series lately.
	ErrSenderLimit = errors.New("too many new series of one sender")
)

// An Error is why a packet, or the rest of one, was not taken.
type Error struct {
	Reason Reason
	Offset int    // bytes from the beginning of the packet
	What   string // what is wrong there
}

func (e *Error) Error() string { return e.Reason.String() + ": " + e.What }

// ReasonOf returns the reason in err; Failed if it has none.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return Failed
}

// FailureReason returns what a sink's error counts as: Overload where the store could not take
// more in time, else Failed.
func FailureReason(err error) Reason {
	if errors.Is(err, core.ErrMemory) || errors.Is(err, context.DeadlineExceeded) {
		return Overload
	}
	return Failed
}
