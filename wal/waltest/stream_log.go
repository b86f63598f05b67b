package waltest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/wal"
)

// pendingBytes is how much may be enqueued and not yet durable before Enqueue waits.
const pendingBytes = 16 << 20

// A StreamLog is a process's end of a Stream.
type StreamLog struct {
	stream    *Stream
	onDurable func(first, last wal.Pos, err error)
	stopped   chan struct{} // closed when the committer has returned

	acked atomic.Uint64 // the newest position that was reported as durable

	mu      sync.Mutex // guards what follows; never held while onDurable or the stream is called
	work    sync.Cond  // the committer waits here for records or for closing
	room    sync.Cond  // Enqueue waits here
	first   wal.Pos    // position of pending[0]
	pending [][]byte   // not yet reported as durable
	bytes   int64      // in pending
	telling bool       // onDurable runs
	failing error      // what onDurable gets
	sealed  bool       // another process is the writer
	closing bool
	barrier []barrier
}

// A barrier waits for the records up to a position.
type barrier struct {
	p    wal.Pos
	done chan error
}

func newStreamLog(s *Stream, last wal.Pos, onDurable func(first, last wal.Pos, err error)) *StreamLog {
	l := &StreamLog{stream: s, onDurable: onDurable, stopped: make(chan struct{}), first: last + 1}
	l.work.L, l.room.L = &l.mu, &l.mu
	l.acked.Store(uint64(last))
	go l.commits()
	return l
}

// Open makes the caller the writer of the stream. It gives out no position at or below after. If
// the stream ends before after, Open returns an error that wraps wal.ErrHole. onDurable is as in
// [wal.Options].
func (s *Stream) Open(after wal.Pos, onDurable func(first, last wal.Pos, err error)) (*StreamLog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return nil, ErrPower
	}
	if len(s.records) == 0 {
		s.first = max(s.first, after+1)
	}
	if s.last() < after {
		return nil, fmt.Errorf("%w: the stream ends at position %d, and %d is already held", wal.ErrHole, s.last(), after)
	}
	l := newStreamLog(s, s.last(), onDurable)
	s.writer = l
	return l, nil
}

// Enqueue is as the engine's Log has it.
func (l *StreamLog) Enqueue(rec []byte) (wal.Pos, error) {
	if len(rec) > wal.MaxRecord {
		return 0, fmt.Errorf("append record of %d bytes: %w", len(rec), wal.ErrTooLarge)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closing && !l.telling && l.bytes > 0 && l.bytes+int64(len(rec)) > pendingBytes {
		l.room.Wait()
	}
	switch {
	case l.closing:
		return 0, wal.ErrClosed
	case l.sealed:
		return 0, wal.ErrSealed
	case l.failing != nil:
		return 0, l.failing
	}
	l.pending = append(l.pending, append([]byte{}, rec...)) // not nil if it is empty: nil is lost
	l.bytes += int64(len(rec))
	l.work.Signal()
	return l.first + wal.Pos(len(l.pending)) - 1, nil
}

// commits gives the stream one part of the pending records after the other.
func (l *StreamLog) commits() {
	defer close(l.stopped)
	for {
		l.mu.Lock()
		for len(l.pending) == 0 && !l.closing {
			l.work.Wait()
		}
		part, first := l.pending, l.first
		l.mu.Unlock()
		if len(part) == 0 {
			return
		}
		part = part[:l.stream.share(len(part))]
		l.report(first, part, l.stream.commit(l, first, part))
	}
}

// report says what became of part. After an error everything that is pending has failed.
func (l *StreamLog) report(first wal.Pos, part [][]byte, err error) {
	l.mu.Lock()
	if err != nil {
		part = l.pending
	}
	last := first + wal.Pos(len(part)) - 1
	if err == nil {
		l.acked.Store(uint64(last))
		l.take(len(part))
	}
	l.telling, l.failing = true, err
	l.mu.Unlock()
	l.room.Broadcast()
	l.onDurable(first, last, err)
	l.mu.Lock()
	if err != nil {
		l.take(len(l.pending))
		l.first = first
		l.sealed = l.sealed || err == wal.ErrSealed
	}
	l.telling, l.failing = false, nil
	waiting := l.barrier[:0]
	for _, b := range l.barrier {
		if err == nil && b.p > last {
			waiting = append(waiting, b)
			continue
		}
		b.done <- err
	}
	l.barrier = waiting
	l.mu.Unlock()
	l.room.Broadcast()
}

// take removes the first n pending records. l.mu is held.
func (l *StreamLog) take(n int) {
	for _, rec := range l.pending[:n] {
		l.bytes -= int64(len(rec))
	}
	l.pending = append([][]byte(nil), l.pending[n:]...)
	l.first += wal.Pos(n)
}

// underway returns the records from position from on that are not reported as durable.
func (l *StreamLog) underway(from wal.Pos) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(from-l.first, wal.Pos(len(l.pending))) // some of the stream may be unreported
	return l.pending[n:]
}

// Barrier is as the engine's Log has it.
func (l *StreamLog) Barrier(ctx context.Context) (wal.Pos, error) {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return 0, wal.ErrClosed
	}
	b := barrier{p: l.first + wal.Pos(len(l.pending)) - 1, done: make(chan error, 1)}
	if l.telling || len(l.pending) > 0 {
		l.barrier = append(l.barrier, b)
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

// Replay is as the engine's Log has it.
func (l *StreamLog) Replay(from wal.Pos, fn func(p wal.Pos, rec []byte) error) error {
	upto := l.Last()
	recs, p, err := l.stream.read(from)
	if err != nil {
		return err
	}
	for _, rec := range recs {
		if p > upto {
			break
		}
		if err := l.stream.readable(p, rec); err != nil {
			return err
		}
		if err := fn(p, rec); err != nil {
			return err
		}
		p++
	}
	return nil
}

// Truncate is as the engine's Log has it.
func (l *StreamLog) Truncate(upto wal.Pos) error {
	l.mu.Lock()
	closing := l.closing
	l.mu.Unlock()
	if closing {
		return wal.ErrClosed
	}
	return l.stream.truncate(l, min(upto, l.Last()))
}

// First is as the engine's Log has it.
func (l *StreamLog) First() wal.Pos {
	l.stream.mu.Lock()
	defer l.stream.mu.Unlock()
	return l.stream.first
}

// Last is as the engine's Log has it.
func (l *StreamLog) Last() wal.Pos { return wal.Pos(l.acked.Load()) }

// ID returns the stream's ID.
func (l *StreamLog) ID() wal.ID { return l.stream.id }

// Close is as the engine's Log has it.
func (l *StreamLog) Close() error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.work.Signal()
	l.room.Broadcast()
	<-l.stopped
	return nil
}
