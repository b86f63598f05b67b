package stream

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// blockBytes is the raw size at which a block is closed. A longer record has a block of its own.
const blockBytes = 512 << 10

// Log is an open log. Its methods may be called concurrently. Lock order: mu is never held while
// the server or OnDurable is called.
type Log struct {
	finder
	o      Options
	writer uint64 // number of this writer's claim
	nonce  uint64

	wake    chan struct{} // holds one; the writing goroutine then looks again
	stopped chan struct{} // closed when the writing goroutine has returned
	giveUp  func()        // ends what the writing goroutine waits for

	acked atomic.Uint64 // the newest position that was reported as durable
	tail  atomic.Uint64 // the newest message known; only the writing goroutine stores it
	sent  uint64        // messages made; only the writing goroutine uses it
	told  time.Time     // when readers were woken last; only the writing goroutine uses it

	mu       sync.Mutex // guards what follows
	room     sync.Cond  // Enqueue waits here while too much is pending
	oldest   wal.Pos    // what First returns
	next     wal.Pos    // position of the next record
	pending  []*block   // not yet reported
	held     int        // bytes in pending
	hurry    bool       // somebody waits for the pending records
	telling  bool       // OnDurable runs
	failing  error      // OnDurable is called with this failure
	sealed   error      // why nothing can be written any more
	short    time.Time  // since when the stream has ended before what was written; zero: it has not
	closing  bool
	unkept   error // what records failed with while the log was closing
	barriers []barrier
}

// A block is records that are compressed, and checked, together.
type block struct {
	raw   []byte // as wal.AppendRecord packs them
	first wal.Pos
	count int
	bytes int       // as counted in held
	since time.Time // when the first record was enqueued
	taken bool      // the writing goroutine has it: nothing may be added
}

func (b *block) end() wal.Pos { return b.first + wal.Pos(b.count) }

// A barrier waits for the records up to a position.
type barrier struct {
	p    wal.Pos
	done chan error // has room for the answer
}

// Enqueue is as core.Log has it. It waits for room for Options.Patience at most, and then returns
// an error that wraps wal.ErrRetry.
func (l *Log) Enqueue(rec []byte) (wal.Pos, error) {
	if len(rec) > wal.MaxRecord {
		return 0, fmt.Errorf("append record of %d bytes: %w", len(rec), wal.ErrTooLarge)
	}
	size := len(rec) + wal.RecordOverhead
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.waitForRoom(size); err != nil {
		return 0, err
	}
	n := len(l.pending)
	if n == 0 || l.pending[n-1].taken || len(l.pending[n-1].raw)+size > blockBytes {
		l.pending = append(l.pending, &block{first: l.next, since: time.Now()})
		n++
	}
	b := l.pending[n-1]
	b.raw = wal.AppendRecord(b.raw, rec)
	b.count++
	b.bytes += size
	l.held += size
	l.next++
	l.signal()
	return l.next - 1, nil
}

// waitForRoom waits until a record of size bytes may be enqueued. l.mu is held.
func (l *Log) waitForRoom(size int) error {
	var since time.Time
	for l.writable() == nil && !l.telling && l.held > 0 && l.held+size > l.o.MaxPendingBytes {
		if since.IsZero() {
			since = time.Now()
			defer time.AfterFunc(l.o.Patience, l.room.Broadcast).Stop()
		} else if time.Since(since) >= l.o.Patience {
			return fmt.Errorf("%w: no answer from the stream for %v, and %d bytes are pending", wal.ErrRetry, l.o.Patience, l.held)
		}
		l.hurry = true
		l.signal()
		l.room.Wait()
	}
	if err := l.writable(); err != nil {
		return err
	}
	return l.failing
}

// signal makes the writing goroutine look again.
func (l *Log) signal() {
	select {
	case l.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Barrier is as core.Log has it.
func (l *Log) Barrier(ctx context.Context) (wal.Pos, error) {
	l.mu.Lock()
	if err := l.writable(); err != nil {
		l.mu.Unlock()
		return 0, err
	}
	b := barrier{p: l.next - 1, done: make(chan error, 1)}
	if l.telling || len(l.pending) > 0 {
		l.barriers = append(l.barriers, b)
		l.hurry = true
		l.signal()
	} else {
		b.done <- nil
	}
	l.mu.Unlock()
	select {
	case err := <-b.done:
		if err != nil {
			return 0, fmt.Errorf("barrier at position %d: %w", b.p, err)
		}
		return b.p, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// writable returns why nothing can be written, or nil. l.mu is held.
func (l *Log) writable() error {
	if l.closing {
		return wal.ErrClosed
	}
	return l.sealed
}

// First is as core.Log has it.
func (l *Log) First() wal.Pos {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.oldest
}

// Last is as core.Log has it.
func (l *Log) Last() wal.Pos { return wal.Pos(l.acked.Load()) }

// ID identifies the log. It is drawn at random when the first message is written.
func (l *Log) ID() wal.ID { return l.id }

// Close is as core.Log has it. If the servers do not answer for Options.Patience, Close gives up
// and returns an error that wraps wal.ErrRetry. Then it is not known which of the pending records
// were kept: the next Open finds out.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.closing
	l.closing = true
	l.mu.Unlock()
	if again {
		<-l.stopped
		return nil
	}
	l.signal()
	l.room.Broadcast()
	timer := time.AfterFunc(l.o.Patience, l.giveUp)
	<-l.stopped
	timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unkept
}
