package receivers

import (
	"sync"
	"sync/atomic"
	"time"
)

// staleEvery is how often at most connections are told to resolve their references again.
const staleEvery = time.Second

// A SharedQueue is a Queue that many goroutines use, one a connection.
type SharedQueue struct {
	generation atomic.Uint64

	mu   sync.Mutex // guards what follows
	q    *Queue
	told time.Time // when generation was raised
	done bool
}

// NewSharedQueue returns a SharedQueue into sink that counts in c. Its goroutines run until Stop.
func NewSharedQueue(sink Sink, c *Counters, cfg Config) *SharedQueue {
	return &SharedQueue{q: NewQueue(sink, c, cfg)}
}

// Do lets f use the queue, with no other at the same time, and hands over what f has added: call it
// once for all that one read has brought. f must not keep the queue. Where there is no room Do
// waits for some, for Config.Patience at most, and so holds up all who share the queue: a flood
// from one of them is shed, and few samples of another are not.
func (s *SharedQueue) Do(f func(q *Queue)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	if s.q.stale.Load() {
		s.raise()
	}
	s.q.ready()
	f(s.q)
	s.q.Flush()
}

// raise begins a new generation, unless the last is too young. s.mu is held.
func (s *SharedQueue) raise() {
	if now := s.q.now(); now.Sub(s.told).Abs() >= staleEvery {
		s.told = now
		s.q.Stale()
		s.generation.Add(1)
	}
}

// Generation is another whenever the sink has refused a reference, as Queue.Stale tells a goroutine
// that is alone: references from an earlier one must be resolved again.
func (s *SharedQueue) Generation() uint64 { return s.generation.Load() }

// Stop is the Queue's. Do does nothing from then on.
func (s *SharedQueue) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.q.Stop()
}
