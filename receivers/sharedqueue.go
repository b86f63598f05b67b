package receivers

import (
	"sync"
	"time"
)

// A SharedQueue is a Queue that many goroutines use, one a connection.
type SharedQueue struct {
	mu   sync.Mutex // guards what follows
	q    *Queue
	left bool        // Flush has left something behind
	t    *time.Timer // flushes that
	done bool
}

// NewSharedQueue returns a SharedQueue into sink that counts in c. Its goroutines run until Stop.
func NewSharedQueue(sink Sink, c *Counters, cfg Config) *SharedQueue {
	s := &SharedQueue{q: NewQueue(sink, c, cfg)}
	s.t = time.AfterFunc(time.Hour, s.flush)
	s.t.Stop()
	return s
}

// Do lets f use the queue, with no other at the same time, and hands over what f has added: call it
// once for all that one read has brought. f must not keep the queue.
func (s *SharedQueue) Do(f func(q *Queue)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	f(s.q)
	s.flushLocked()
}

func (s *SharedQueue) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.flushLocked()
	}
}

func (s *SharedQueue) flushLocked() {
	if s.left = !s.q.Flush(); s.left {
		s.t.Reset(retryFlush)
	}
}

// Stop is the Queue's. Do does nothing from then on.
func (s *SharedQueue) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.t.Stop()
	s.q.Stop()
}
