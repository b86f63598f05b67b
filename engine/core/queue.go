package core

import (
	"context"
	"sync"
	"sync/atomic"
)

// maxQueued is how many bytes of records may be on their way to the disk before writers wait. The
// log would hold them back too, but a writer that waits in the log cannot give up.
const maxQueued = 8 << 20

// A queue holds the tickets of the records that are in the log and not yet durable, in the order of
// the log.
type queue struct {
	bytes atomic.Int64 // of the records; changed under mu

	mu      sync.Mutex // guards what follows; taken last and alone
	tickets []*Ticket
	empty   sync.Cond     // told when tickets is empty
	room    chan struct{} // closed when half of maxQueued is free again; nil: nobody waits
}

// push adds a ticket at the end.
func (q *queue) push(t *Ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tickets = append(q.tickets, t)
	q.bytes.Add(t.size)
}

// unpush removes the ticket that push added last.
func (q *queue) unpush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.tickets) - 1
	size := q.tickets[n].size
	q.tickets = q.tickets[:n]
	q.removed(size)
}

// shift removes the first n tickets and returns them.
func (q *queue) shift(n int) []*Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := append([]*Ticket(nil), q.tickets[:n]...)
	size := int64(0)
	for _, t := range first {
		size += t.size
	}
	q.tickets = append(q.tickets[:0], q.tickets[n:]...)
	q.removed(size)
	return first
}

// removed tells those who wait that tickets were removed. The caller holds mu.
func (q *queue) removed(size int64) {
	left := q.bytes.Add(-size)
	if len(q.tickets) == 0 {
		q.empty.Broadcast()
	}
	if left <= maxQueued/2 && q.room != nil {
		close(q.room)
		q.room = nil
	}
}

// len returns how many records are on their way to the disk.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.tickets)
}

// awaitEmpty waits until no record is on its way to the disk.
func (q *queue) awaitEmpty() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tickets) > 0 {
		q.empty.Wait()
	}
}

// awaitRoom waits until the queue has room. The error is ctx's.
func (q *queue) awaitRoom(ctx context.Context) error {
	for q.bytes.Load() > maxQueued {
		q.mu.Lock()
		if q.bytes.Load() <= maxQueued {
			q.mu.Unlock()
			return nil
		}
		if q.room == nil {
			q.room = make(chan struct{})
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
