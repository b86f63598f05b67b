package core

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// An admission holds writers back while the store is over its limits, and lets them go on after a
// checkpoint. The limits are a budget of memory, and the bytes of log that one checkpoint should
// leave. It also counts what a checkpoint can free: the log since the last one.
type admission struct {
	space      *groupSpace
	budget     int64 // of memory, in bytes
	logBytes   int64 // of records after which a checkpoint is due
	background bool  // a goroutine writes checkpoints when it is woken
	shared     bool  // others may write the log

	logged atomic.Int64 // bytes of records since the last checkpoint began
	// bytes that definitions take: they stay until the store is closed
	definitions atomic.Int64
	failure     atomic.Pointer[error] // of the last checkpoint; nil: it succeeded
	// tells the goroutine that a checkpoint is due; holds one message
	due chan struct{}

	mu   sync.Mutex    // guards next; taken alone
	next chan struct{} // closed and replaced when the next checkpoint ends
}

// init sets the limits. Before it, an admission only counts: a repair needs no more.
func (a *admission) init(space *groupSpace, o *Options) {
	a.space, a.budget, a.logBytes, a.background = space, o.Memory, o.CheckpointBytes, !o.NoBackground
	a.shared = o.Follow != nil
	a.due, a.next = make(chan struct{}, 1), make(chan struct{})
}

// wake asks for a checkpoint, without waiting for it.
func (a *admission) wake() {
	select {
	case a.due <- struct{}{}:
	default:
	}
}

// addLogged counts a record of n bytes, and asks for a checkpoint when one is due.
func (a *admission) addLogged(n int64) {
	if a.logged.Add(n) > a.logBytes {
		a.wake()
	}
}

// full says whether writers must wait for a checkpoint: memory is over the budget, or the log since
// the last checkpoint began is twice as long as one checkpoint should leave.
func (a *admission) full() bool {
	return a.overBudget() || a.logged.Load() > 2*a.logBytes && a.background
}

func (a *admission) overBudget() bool { return a.space.Used() > a.budget }

// wait holds a writer back while the store is full. The error is ErrMemory if checkpoints do not
// help, the error of the last checkpoint, or ctx's.
func (a *admission) wait(ctx context.Context) error {
	for tries := 0; a.full(); tries++ {
		overBudget := a.overBudget()
		if err := a.failed(); err != nil {
			return err
		}
		if overBudget && (!a.background || tries > 2) {
			return ErrMemory
		}
		next := a.nextCheckpoint()
		if !a.full() {
			return nil
		}
		if err := a.awaitCheckpoint(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// hold holds back what comes from the log while the store is full. It must be applied, however much
// memory it takes: hold gives up only if checkpoints succeed and do not help. The error is ctx's.
func (a *admission) hold(ctx context.Context) error {
	for tries := 0; a.full(); {
		if !a.background || tries > 2 {
			return ctx.Err()
		}
		next := a.nextCheckpoint()
		if !a.full() {
			break
		}
		if err := a.awaitCheckpoint(ctx, next); err != nil {
			return err
		}
		if a.failure.Load() == nil {
			tries++
		}
	}
	return ctx.Err()
}

// failed returns an error if the last checkpoint has failed, and asks for another one.
func (a *admission) failed() error {
	failure := a.failure.Load()
	if failure == nil {
		return nil
	}
	a.wake()
	return fmt.Errorf("no room until a checkpoint succeeds: %w", *failure)
}

// nextCheckpoint returns a channel that is closed when the next checkpoint has ended.
func (a *admission) nextCheckpoint() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.next
}

// awaitCheckpoint asks for a checkpoint and waits until next is closed. The error is ctx's.
func (a *admission) awaitCheckpoint(ctx context.Context, next <-chan struct{}) error {
	a.wake()
	select {
	case <-next:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beginCheckpoint returns the bytes of log since the checkpoint before, and counts from 0 again.
func (a *admission) beginCheckpoint() int64 { return a.logged.Swap(0) }

// endCheckpoint takes the outcome of a checkpoint that began at logged bytes. After an error those
// bytes are still to be cut off the log. A checkpoint that was cancelled has not failed.
func (a *admission) endCheckpoint(logged int64, err error, cancelled bool) {
	a.failure.Store(nil)
	if err == nil {
		return
	}
	a.logged.Add(logged)
	if !cancelled {
		a.failure.Store(&err)
	}
}

// relieve lets waiting writers look again.
func (a *admission) relieve() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.next)
	a.next = make(chan struct{})
}
