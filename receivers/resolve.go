package receivers

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// Samples of series without a reference are newcomers. A receiver collects them, and asks the sink
// for all their series together: one wait instead of one for each series. It asks when it has read
// all datagrams that had arrived, and no later than these bounds say.
const (
	MaxNewcomers     = 8192                  // newcomers that wait
	MaxNewcomerBytes = 1 << 20               // bytes of memory that they take, about
	NewcomerWait     = 50 * time.Millisecond // how long the first of them waits
)

// A receiver reads nothing while it waits for the sink. So it does not wait for long, and does not
// ask again soon after the sink has failed.
const (
	resolveTimeout = 2 * time.Second  // how long a receiver waits for the sink
	retryFailed    = time.Second      // until the sink is asked again after it has failed
	retryLimit     = 10 * time.Second // until a series over a limit is asked for again
	retryOther     = time.Minute      // until a series refused for another reason is asked for again
)

// Asking returns a context for a call of the sink for which a receiver waits. It ends after two
// seconds, and not when ctx does: samples read before ctx ended are still stored.
func Asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
}

// Resolve calls s.Resolve with a context from Asking.
func Resolve(ctx context.Context, s Sink, reqs []Request) error {
	ctx, cancel := Asking(ctx)
	defer cancel()
	return s.Resolve(ctx, reqs)
}

// A Pause keeps a receiver from asking a sink that has just failed. The zero value is a pause that
// is over.
type Pause struct{ until time.Time }

// Begin begins a pause. now is the time when the sink failed.
func (p *Pause) Begin(now time.Time) { p.until = now.Add(retryFailed) }

// Lasts reports whether the pause lasts at now. Newcomers are shed while it does.
func (p *Pause) Lasts(now time.Time) bool { return now.Before(p.until) }

// Absence returns the reason for which samples are dropped whose series is missing because of err,
// and after how long the series is to be asked for again. err is that of a Request, or says why an
// existing series does not take the samples.
func Absence(err error) (why Reason, retry time.Duration) {
	if errors.Is(err, ErrSenderLimit) || errors.Is(err, core.ErrSeriesLimit) {
		return Limit, retryLimit
	}
	if errors.Is(err, core.ErrUnavailable) {
		return Overload, retryFailed
	}
	return State, retryOther
}

// Failure is Absence for an error of Resolve itself.
func Failure(err error) (why Reason, retry time.Duration) { return FailureReason(err), retryFailed }
