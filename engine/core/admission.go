package core

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/rra"
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
	// for the goroutine: a checkpoint is due; holds one message
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
func (a *admission) wake() { signal(a.due) }

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
		if err := a.awaitCheckpoint(ctx, a.full); err != nil {
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
		if err := a.awaitCheckpoint(ctx, a.full); err != nil {
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

// awaitCheckpoint asks for a checkpoint and waits for its end, if needed says that it is still
// needed. The error is ctx's.
func (a *admission) awaitCheckpoint(ctx context.Context, needed func() bool) error {
	a.mu.Lock()
	next := a.next
	a.mu.Unlock()
	if !needed() { // one has just ended
		return nil
	}
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
// bytes. It waits for checkpoints as wait does. The error is ErrMemory, the error of
// the last checkpoint, or ctx's.
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
		if err := a.awaitCheckpoint(ctx, func() bool { return true }); err != nil {
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

// A MemoryShare is memory of the store's budget that something beside the store takes, such as an
// index of its names. Its methods are for one goroutine at a time.
type MemoryShare struct {
	most   int64
	resize func(from, to int64) error
	n      int64
}

// shareLimit is the part of a budget that one share may take.
const shareLimit = 4

// NewMemoryShare returns a share of nothing yet of a budget in bytes. Resize calls resize with the
// number of bytes that the share has and with the number that it is about to have. If resize
// returns an error, which wraps ErrMemory, the share stays as it was. Giving back must not fail.
func NewMemoryShare(budget int64, resize func(from, to int64) error) *MemoryShare {
	return &MemoryShare{most: budget / shareLimit, resize: resize}
}

// MemoryShare returns a share of nothing yet.
func (s *Store) MemoryShare() *MemoryShare {
	a := &s.admission
	return NewMemoryShare(a.budget, func(from, to int64) error {
		if to > from {
			r := reservation{a: a}
			if err := r.grow(to - from); err != nil {
				return err
			}
			defer r.end()
		}
		a.space.Count(to - from)
		return nil
	})
}

// Bytes returns how many bytes the share has.
func (m *MemoryShare) Bytes() int64 { return m.n }

// Resize makes the share n bytes. It does not wait for memory. The error wraps ErrMemory if n is
// more than a quarter of the budget, or if the budget has no room for it, as for a large series.
// The share then stays as it was.
func (m *MemoryShare) Resize(n int64) error {
	if n > m.n && n > m.most {
		return fmt.Errorf("%w: %d bytes are needed, at most %d are for this", ErrMemory, n, m.most)
	}
	err := m.resize(m.n, n)
	if err == nil {
		m.n = n
	}
	return err
}

// seriesBytes is what one series of c takes of the memory while it is loaded.
func (c *class) seriesBytes() int64 {
	return int64(memory.Size(c.groupBytes(1)) + memory.Size(9*c.sources))
}

// definitionBytes is about what a definition with its class takes of the memory. code is the size
// of its code in bytes.
func definitionBytes(m *rra.Machine, code int) int64 {
	d := m.Definition()
	return 2048 + int64(code) + 200*int64(len(d.Sources)) + 400*int64(len(d.Archives)) + 16*int64(len(d.Sources)*len(m.Streams()))
}

// reserveSeries sets the memory of planned series aside.
func (s *Store) reserveSeries(ctx context.Context, plan []planned) (*reservation, error) {
	var total, largest, each int64
	var last *rra.Machine
	known := make(map[string]bool)
	for i := range plan {
		p := &plan[i]
		if p.m != last {
			last, each = p.m, s.catalogue.classOf(p.m).seriesBytes()
			if !known[p.def] {
				known[p.def] = true
				n, err := s.catalogue.newDefinitionBytes(p)
				if err != nil {
					return nil, err
				}
				total += n
			}
		}
		need := each
		if x := p.copied; x != nil {
			need += 2*int64(len(x.rows)) + int64(x.strips)*pending.MaxHeader + pending.ChunkSize
		}
		total += need
		largest = max(largest, need)
	}
	return s.admission.reserve(ctx, total, largest)
}
