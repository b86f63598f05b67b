package receivers

import (
	"context"
	"sync"
	"sync/atomic"
)

// A SharedQueue is a Queue that many goroutines use, one for each connection.
type SharedQueue struct {
	generation atomic.Uint64

	mu   sync.Mutex // guards what follows
	q    *Queue
	done bool
}

// NewSharedQueue returns a SharedQueue into sink that counts in c. Its goroutines run until Stop.
func NewSharedQueue(sink Sink, c *Counters, cfg Config) *SharedQueue {
	return &SharedQueue{q: NewQueue(sink, c, cfg)}
}

// NewPatientQueue is NewSharedQueue for input that can wait, such as a file: Add waits for room,
// and sheds nothing, until ctx has ended for a tenth of a second.
func NewPatientQueue(ctx context.Context, sink Sink, c *Counters, cfg Config) *SharedQueue {
	s := NewSharedQueue(sink, c, cfg)
	s.q.patient = ctx
	return s
}

// Do calls f with the queue, and hands over the samples that f has added. Call it once for all
// samples of one read. Only one f runs at a time; it must not keep the queue.
//
// If the queue has no room, Do first waits for some, but no longer than Config.Patience. Everybody
// who shares the queue waits meanwhile. So the samples of a flood are shed, while the few of
// another connection find room.
func (s *SharedQueue) Do(f func(q *Queue)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	if s.q.Stale() {
		s.generation.Add(1)
	}
	s.q.ready()
	f(s.q)
	s.q.Flush()
}

// Generation returns a number that changes when the sink has refused a reference, as Queue.Stale
// reports it. References from an earlier generation must be resolved again.
func (s *SharedQueue) Generation() uint64 { return s.generation.Load() }

// Stop stops the Queue. Do does nothing afterwards.
func (s *SharedQueue) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.q.Stop()
}
