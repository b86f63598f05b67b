package core

import (
	"context"
	"fmt"
)

// The memory of a new series is set aside before its record is logged: what is logged must be
// applied, however much memory it takes. Creations that wait at the same time see each other's
// reservations, so that together they keep within the budget. Large series leave a part of the
// budget free, because samples of other series must not wait for the checkpoint of a large one.

// largeShare is the part of the budget, in quarters, that large series and whole copies may fill.
const largeShare = 3

// A reservation is memory that was set aside. Its end gives it back.
type reservation struct {
	a *admission
	n int64
}

// reserve sets n bytes aside: for one thing of that size, or for several things of at most each
// bytes. It waits for checkpoints as wait does. The error is ErrMemory, that of the last
// checkpoint, or ctx's.
func (a *admission) reserve(ctx context.Context, n, each int64) (*reservation, error) {
	budget := a.budget
	if each > largeSeries {
		budget = max(budget-a.definitions.Load(), 0) / 4 * largeShare
	}
	for tries := 0; !a.space.Reserve(n, budget); tries++ {
		if err := a.failed(); err != nil {
			return nil, err
		}
		if !a.background || n > budget || tries > 2 {
			return nil, fmt.Errorf("%w: %d bytes are needed, and of the %d there are for this %d are free",
				ErrMemory, n, budget, a.space.Left(budget))
		}
		if err := a.awaitCheckpoint(ctx, a.nextCheckpoint()); err != nil {
			return nil, err
		}
	}
	return &reservation{a, n}, nil
}

// reserveCopy makes a reservation of nothing yet, for a copy of a whole series. grow adds to it.
func (a *admission) reserveCopy(ctx context.Context) (*reservation, error) {
	return a.reserve(ctx, 0, largeSeries)
}

// grow sets n more bytes aside, without waiting. The error is ErrMemory.
func (r *reservation) grow(n int64) error {
	budget := r.a.budget / 4 * largeShare
	if !r.a.space.Reserve(n, budget) {
		return fmt.Errorf("%w: more than %d bytes are needed, and of the %d there are for this %d were free",
			ErrMemory, r.n+n, budget, r.a.space.Left(budget))
	}
	r.n += n
	return nil
}

// end gives back what was set aside: the memory itself is counted by now, or is not needed. A nil
// reservation, as records have that are replayed, is ignored.
func (r *reservation) end() {
	if r == nil {
		return
	}
	r.a.space.Unreserve(r.n)
	r.n = 0
}

// checkDefinition refuses a new definition of n bytes when definitions would take more than half of
// the budget. The error is ErrMemory.
func (a *admission) checkDefinition(n int64) error {
	if have := a.definitions.Load(); have+n > a.budget/2 {
		return fmt.Errorf("%w: the definitions of all series take %d bytes and one more %d, half of the budget is %d",
			ErrMemory, have, n, a.budget/2)
	}
	return nil
}
