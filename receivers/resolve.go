package receivers

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// How receivers ask the sink for the series of newcomers. While the sink is asked nothing is read,
// so it is not asked for long, nor too soon again after it has failed.
const (
	resolveTimeout = 2 * time.Second  // how long the sink may hold up the reading
	retryFailed    = time.Second      // before the sink is asked again that has failed
	retryLimit     = 10 * time.Second // before a series over a limit is asked for again
	retryOther     = time.Minute      // before a series that was refused for another reason is
)

// Asking returns a context for asking the sink while a receiver waits: it ends after two seconds.
// It does not end because ctx does: what was read before ctx ended is still stored.
func Asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
}

// Resolve has s resolve reqs, for as long as Asking allows.
func Resolve(ctx context.Context, s Sink, reqs []Request) error {
	ctx, cancel := Asking(ctx)
	defer cancel()
	return s.Resolve(ctx, reqs)
}

// A Pause keeps a receiver from asking a sink that has just failed. The zero value is no pause.
type Pause struct{ until time.Time }

// Begin begins a pause, at the time when the sink has failed.
func (p *Pause) Begin(now time.Time) { p.until = now.Add(retryFailed) }

// Lasts reports whether the pause lasts at now: newcomers are shed then.
func (p *Pause) Lasts(now time.Time) bool { return now.Before(p.until) }

// Absence says for what reason samples are dropped that have no series because of err, and how long
// it is until the series is to be asked for again. err is a Request's, or what a receiver has found
// wrong with a series that is there.
func Absence(err error) (why Reason, retry time.Duration) {
	if errors.Is(err, ErrSenderLimit) || errors.Is(err, core.ErrSeriesLimit) {
		return Limit, retryLimit
	}
	return State, retryOther
}

// Failure is Absence for the error of Resolve itself.
func Failure(err error) (why Reason, retry time.Duration) { return FailureReason(err), retryFailed }
