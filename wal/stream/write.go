package stream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// The times between attempts grow from firstWait to maxWait. An attempt without an answer ends
// after attemptTime.
const (
	firstWait   = 10 * time.Millisecond
	maxWait     = 500 * time.Millisecond
	attemptTime = 2 * time.Second
)

// writes runs the writing goroutine: it sends one block after the other until the log is closed and
// no record is pending.
func (l *Log) writes(ctx context.Context) {
	defer close(l.stopped)
	for {
		b, wait := l.take()
		switch {
		case b != nil:
			l.report(b, l.write(ctx, b))
		case wait < 0:
			return
		case wait == 0:
			<-l.wake
		default:
			t := time.NewTimer(wait)
			select {
			case <-l.wake:
			case <-t.C:
			}
			t.Stop()
		}
	}
}

// take returns the next block to send. If it is not yet time it returns how long to wait, 0 being
// until the log is woken. A negative time says that the log is closed and empty.
func (l *Log) take() (*block, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		if l.closing {
			return nil, -1
		}
		return nil, 0
	}
	b := l.pending[0]
	if len(l.pending) == 1 && len(b.raw) < l.o.BatchBytes && !l.hurry && !l.closing {
		if left := l.o.Linger - time.Since(b.since); left > 0 {
			return nil, left
		}
	}
	b.taken = true
	return b, 0
}

// report says what became of a block. After an error everything that is pending has failed.
func (l *Log) report(b *block, err error) {
	last := b.end() - 1
	l.mu.Lock()
	if err == nil {
		l.acked.Store(uint64(last))
		l.pending = l.pending[1:]
		l.held -= b.bytes
	} else {
		last = l.next - 1
	}
	l.telling, l.failing = true, err
	l.mu.Unlock()
	if err == nil {
		l.announce()
	}
	l.room.Broadcast()
	l.o.OnDurable(b.first, last, err)
	l.mu.Lock()
	if err != nil {
		l.pending, l.held, l.next = nil, 0, b.first
		if errors.Is(err, wal.ErrSealed) {
			l.sealed = err
		}
		if l.closing {
			l.unkept = err
		}
	}
	l.telling, l.failing = false, nil
	waiting := l.barriers[:0]
	for _, w := range l.barriers {
		if err == nil && w.p > last {
			waiting = append(waiting, w)
			continue
		}
		w.done <- err
	}
	clear(l.barriers[len(waiting):])
	l.barriers = waiting
	l.hurry = len(waiting) > 0
	l.mu.Unlock()
	l.room.Broadcast()
}

// announceEvery is the least time between two announcements. A reader that has heard one asks again
// that soon by itself.
const announceEvery = busyWait

// announce wakes readers when there is something new.
func (l *Log) announce() {
	if now := time.Now(); now.Sub(l.told) >= announceEvery {
		l.told = now
		l.server.Announce()
	}
}

// write stores a block, in as many messages as it needs. After an error no record of it is in the
// log: a reader leaves out a block whose last part is missing.
func (l *Log) write(ctx context.Context, b *block) error {
	h := header{Kind: part, Count: uint32(b.count), First: b.first, Writer: l.writer, Log: l.id, Nonce: l.nonce}
	rest := wal.AppendBlock(nil, b.raw, b.first, b.count, h.salt())
	most := l.server.MaxMessage() - messageHeader
	h.Parts = uint32((len(rest) + most - 1) / most)
	for ; h.Part < h.Parts; h.Part++ {
		n := min(most, len(rest))
		if err := l.publish(ctx, appendMessage(nil, h, rest[:n])); err != nil {
			return fmt.Errorf("append records %d to %d: %w", b.first, b.end()-1, err)
		}
		rest = rest[n:]
	}
	return nil
}

// publish stores a message behind the newest one that is known. It returns an error only if the
// message is not stored and never will be, or if ctx has ended. The error wraps wal.ErrFull,
// wal.ErrRetry or wal.ErrSealed; and wal.ErrLost if the stream has lost its end, as it has said for
// Options.Retry.
func (l *Log) publish(ctx context.Context, msg []byte) error {
	l.sent++
	id := fmt.Sprintf("%016x-%d", l.nonce, l.sent)
	began := time.Now()
	unsure := false
	var lost time.Time // since when the stream ends before what was written; zero: it does not
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		seq, err := l.attempt(ctx, id, msg)
		switch {
		case err == nil:
			l.tail.Store(seq)
			if unsure {
				l.o.Logger.Info("stream answers again", "message", seq, "after", time.Since(began))
			}
			return nil
		case errors.Is(err, wal.ErrSealed):
			return err
		case !errors.Is(err, wal.ErrLost):
			lost = time.Time{}
		case lost.IsZero():
			lost = time.Now()
		case time.Since(lost) >= l.o.Retry:
			return fmt.Errorf("%w: %w", wal.ErrSealed, err)
		}
		switch {
		case refused(err):
			if !unsure && errors.Is(err, wal.ErrFull) {
				return err
			}
			if time.Since(began) >= l.o.Retry {
				// Where the stream has lost what stands before the message, it does not matter
				// whether an earlier attempt has stored it.
				if err := l.orLost(ctx, err); !unsure || errors.Is(err, wal.ErrLost) {
					return err
				}
			}
		case !unsure:
			unsure = true
			l.o.Logger.Warn("stream does not answer, and it is not known whether it kept a message: trying again", "behind", l.tail.Load(), "error", err)
		}
		if sleep.For(ctx, wait) != nil {
			return fmt.Errorf("%w: closed before the stream answered: %w", wal.ErrRetry, err)
		}
	}
}

// orLost returns err, for which a message was refused for Options.Retry, unless the stream is gone
// or ends before what was written.
func (l *Log) orLost(ctx context.Context, err error) error {
	if lost := l.lostEnd(ctx); lost != nil && !errors.Is(err, wal.ErrFull) {
		return fmt.Errorf("%w: %w: %w", wal.ErrSealed, lost, err)
	}
	return err
}

// lostEnd returns an error that wraps wal.ErrLost if the stream ends before what was written, as a
// server says.
func (l *Log) lostEnd(ctx context.Context) error {
	after := l.tail.Load()
	if _, newest, err := l.boundsNow(ctx); err == nil && newest < after {
		return fmt.Errorf("%w: the stream ends at message %d, and message %d was written", wal.ErrLost, newest, after)
	}
	return nil
}

// refused says whether err means that the attempt stored nothing.
func refused(err error) bool { return errors.Is(err, wal.ErrFull) || errors.Is(err, wal.ErrRetry) }

// attempt publishes a message once. If another message is the newest it looks what stands in the
// place of this one: it may be this one, stored by an earlier attempt.
func (l *Log) attempt(ctx context.Context, id string, msg []byte) (uint64, error) {
	after := l.tail.Load()
	timed, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	seq, err := l.server.Publish(timed, after, id, msg)
	if !errors.Is(err, ErrConflict) {
		return seq, err
	}
	m, e := l.message(ctx, after+1)
	switch {
	case e != nil: // the replicas that answer do not have it yet, or it was lost
		return 0, fmt.Errorf("%w: %w: %w", wal.ErrRetry, err, cmp.Or(l.lostEnd(ctx), e))
	case bytes.Equal(m.bytes, msg):
		return m.seq, nil
	}
	return 0, l.deposed(m)
}

// deposed returns the error for a message of another writer behind this one's.
func (l *Log) deposed(m message) error {
	return fmt.Errorf("%w: message %d is of writer %d, this is writer %d", wal.ErrSealed, m.seq, m.Writer, l.writer)
}
