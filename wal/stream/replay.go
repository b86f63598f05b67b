package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// readMessages is how many messages are asked for at once.
const readMessages = 256

// Replay is as core.Log has it. A message that one replica does not have, or has damaged, is read
// from another one.
func (l *Log) Replay(from wal.Pos, fn func(p wal.Pos, rec []byte) error) error {
	ctx := context.Background()
	first, last := l.First(), l.Last()
	if from == 0 {
		from = first
	}
	switch {
	case from < first:
		return fmt.Errorf("replay from position %d: %w: first is %d", from, wal.ErrTruncated, first)
	case from > last+1:
		return fmt.Errorf("replay from position %d: %w: last is %d", from, wal.ErrHole, last)
	case from > last:
		return nil
	}
	m, err := l.find(ctx, from)
	if err != nil {
		return fmt.Errorf("replay from position %d: %w", from, err)
	}
	r := reader{log: l, seq: m.seq, next: m.First, from: from, last: last, fn: fn}
	if err := r.run(ctx); err != nil {
		var stop stopError
		if errors.As(err, &stop) {
			return stop.error
		}
		return fmt.Errorf("replay from position %d: %w", from, err)
	}
	return nil
}

// A reader is one walk over the log.
type reader struct {
	log  *Log
	seq  uint64  // of the next message
	next wal.Pos // position of the next record
	from wal.Pos // what is before it is left out
	last wal.Pos // what is behind it is left out
	fn   func(p wal.Pos, rec []byte) error

	parts header // of the block whose parts are in whole; Part counts them
	whole []byte
	buf   []byte // unpacked blocks
}

// A stopError is an error of the caller's function, which is returned as it is.
type stopError struct{ error }

// errEnd says that a reader has all it wants.
var errEnd = errors.New("end")

// run reads up to the last position. Where a replica does not help, it asks the others, then waits.
func (r *reader) run(ctx context.Context) error {
	began, wait := time.Now(), firstWait
	var damage error
	for replica := 0; ; {
		before := r.seq
		timed, cancel := context.WithTimeout(ctx, attemptTime)
		err := r.log.server.Read(timed, replica, r.seq, readMessages, r.take)
		cancel()
		var stop stopError
		switch {
		case errors.As(err, &stop):
			return err
		case errors.Is(err, errEnd):
			return nil
		case r.seq != before && err == nil:
			began, wait, replica, damage = time.Now(), firstWait, 0, nil
		case r.seq != before: // go on where this replica stopped
			began, wait, damage = time.Now(), firstWait, nil
			replica++
		case errors.Is(err, ErrNoReplica):
			if damage != nil {
				return r.missing(ctx, damage)
			}
			if time.Since(began) >= r.log.o.Patience || !sleep(ctx, wait) {
				return r.missing(ctx, fmt.Errorf("%w: no replica has message %d with record %d", wal.ErrHole, r.seq, r.next))
			}
			wait = min(2*wait, maxWait)
			replica = 0
		default:
			if isDamage(err) {
				damage = err
				r.log.o.Logger.Error("a replica lacks messages or has them damaged, asking another one", "replica", replica, "error", err)
			}
			replica++
		}
	}
}

// isDamage says whether err is about what was read, not about reading it.
func isDamage(err error) bool {
	var corrupt *wal.CorruptError
	return errors.As(err, &corrupt) || errors.Is(err, wal.ErrHole)
}

// missing returns the error for a record that no replica has. It may have been truncated meanwhile.
func (r *reader) missing(ctx context.Context, err error) error {
	if first, e := r.log.findOldest(ctx); e == nil && first > r.next {
		return fmt.Errorf("%w: first is %d", wal.ErrTruncated, first)
	}
	return err
}

// take reads one message. After an error of the message the reader stands where it was.
func (r *reader) take(seq uint64, b []byte) error {
	m, err := r.log.parse(seq, b)
	if err != nil {
		return err
	}
	begins := m.Kind == claim || m.Part == 0
	switch {
	case m.First > r.next:
		return fmt.Errorf("%w: message %d begins with position %d, wanted %d", wal.ErrHole, seq, m.First, r.next)
	case m.First < r.next:
		return &wal.CorruptError{Place: place(seq), Err: fmt.Errorf("position %d comes again behind position %d", m.First, r.next-1)}
	case !begins && (m.Part != r.parts.Part || m.Parts != r.parts.Parts || m.Nonce != r.parts.Nonce):
		return fmt.Errorf("%w: message %d is part %d of %d, and the one before is missing", wal.ErrHole, seq, m.Part, m.Parts)
	case m.Kind == claim:
		r.parts, r.whole = header{}, r.whole[:0]
	case m.Parts == 1:
		if err := r.block(m, m.payload); err != nil {
			return err
		}
	default:
		if begins {
			r.whole = r.whole[:0]
		}
		r.whole = append(r.whole, m.payload...)
		r.parts = m.header
		r.parts.Part++
		if r.parts.Part == m.Parts {
			r.parts = header{}
			if err := r.block(m, r.whole); err != nil {
				return err
			}
		}
	}
	r.seq = seq + 1
	if r.next > r.last {
		return errEnd
	}
	return nil
}

// block yields the records of a block that message m completes.
func (r *reader) block(m message, whole []byte) error {
	b, err := wal.ParseBlock(whole, m.salt(), place(m.seq), r.buf)
	if err != nil {
		return err
	}
	if b.First != m.First || b.Count != int(m.Count) {
		return &wal.CorruptError{Place: place(m.seq), Err: fmt.Errorf("block has %d records from %d on, its message says %d from %d on", b.Count, b.First, m.Count, m.First)}
	}
	if buf := b.Buffer(); buf != nil {
		r.buf = buf
	}
	for p, rec := range b.Records() {
		if rec.Err != nil {
			return rec.Err
		}
		if p < r.from || p > r.last {
			continue
		}
		if err := r.fn(p, rec.Data); err != nil {
			return stopError{err}
		}
		r.from = p + 1 // not again, should the block have to be read again
	}
	r.next = b.Last() + 1
	return nil
}
