package receivers

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
)

// ErrSenderLimit is a Request.Err: the sender has made too many new series lately.
var ErrSenderLimit = errors.New("too many new series of one sender")

// An Error says why a packet, or the rest of one, was not read.
type Error struct {
	Reason Reason
	Offset int    // bytes from the beginning of the packet
	What   string // what is wrong there
}

func (e *Error) Error() string { return e.Reason.String() + ": " + e.What }

// ReasonOf returns the Reason of the Error in err; Failed if err holds no Error.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return Failed
}

// LossOf returns which samples of a batch of n were refused, or nil, and how many were not stored
// because the sink has failed.
func LossOf(err error, n int) (rejected *core.RejectedError, missing int) {
	if err == nil {
		return nil, 0
	}
	if partial, ok := errors.AsType[*core.PartialError](err); ok {
		return partial.Rejected, len(partial.Missing)
	}
	if r, ok := errors.AsType[*core.RejectedError](err); ok {
		return r, 0
	}
	return nil, n
}

// FailureReason returns the reason that an error of a sink is counted as: Overload if the store
// could not take the samples in time, or could not be reached, else Failed.
func FailureReason(err error) Reason {
	if errors.Is(err, core.ErrMemory) || errors.Is(err, core.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return Overload
	}
	return Failed
}
