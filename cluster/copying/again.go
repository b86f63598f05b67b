package copying

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
)

// The times between attempts grow from firstPause to lastPause.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
)

// passing says whether a call that failed may succeed when it is made again.
func passing(err error) bool {
	for _, is := range []error{core.ErrUnavailable, core.ErrRetry, core.ErrFull, core.ErrMemory} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// again calls fn until it succeeds, fails for good, or has failed for longer than patience.
func again(ctx context.Context, patience time.Duration, fn func() error) error {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := fn()
		if err == nil || ctx.Err() != nil || !passing(err) || time.Since(began) > patience {
			return err
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}
