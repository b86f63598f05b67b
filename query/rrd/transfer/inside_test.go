package transfer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/semaphore"
)

// TestInside: a file that comes later does not pass one that waits, and one that gives up lets the
// others in.
func TestInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside := semaphore.NewWeighted(10)
		if !inside.TryAcquire(4) || !inside.TryAcquire(6) || inside.TryAcquire(1) {
			t.Fatal("10 do not have room, or 11 do")
		}
		inside.Release(6)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		left, large, small := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { left <- acquire(ctx, inside, 8) }()
		synctest.Wait() // it waits; so do the next two
		go func() { large <- acquire(t.Context(), inside, 10) }()
		synctest.Wait()
		go func() { small <- acquire(t.Context(), inside, 1) }()
		synctest.Wait()
		if inside.TryAcquire(1) {
			t.Error("1 has passed those that wait")
		}
		select {
		case err := <-left:
			t.Errorf("12 are inside: %v", err)
		case err := <-large:
			t.Errorf("14 are inside: %v", err)
		case err := <-small:
			t.Errorf("1 has passed those that wait: %v", err)
		default:
		}
		cancel(gone)
		if err := <-left; !errors.Is(err, gone) {
			t.Error(err)
		}
		synctest.Wait()
		inside.Release(4)
		if err := <-large; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		select {
		case err := <-small:
			t.Errorf("11 are inside: %v", err)
		default:
		}
		inside.Release(10)
		if err := <-small; err != nil {
			t.Error(err)
		}
	})
}
