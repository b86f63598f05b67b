package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// readMessages is how many messages are asked for at once.
const readMessages = 256

// A walk reads the messages of a stream in order, and yields the records in them.
type walk struct {
	finder
	seq  uint64  // of the next message
	next wal.Pos // position of the next record; 0 before the first message
	from wal.Pos // what is before it is left out
	last wal.Pos // what is behind it is left out
	fn   func(p wal.Pos, rec []byte) error

	// reached gets the last record of a block before the block's records are yielded; it may be
	// nil.
	reached func(p wal.Pos)

	told  uint64 // the message that replicas lack, once it was logged; 0: none
	back  uint64 // the least seq that begin went back to; 0: it did not
	parts header // of the block whose parts are in whole; Part counts them
	whole []byte
	buf   []byte // unpacked blocks
}

// A stopError is an error of the caller's function, which is returned as it is.
type stopError struct{ error }

// errEnd says that a walk has all it wants.
var errEnd = errors.New("end")

// toEnd reads up to the last position. If no replica helps it asks again, until the patience is
// over.
func (w *walk) toEnd(ctx context.Context) error {
	began, wait := time.Now(), firstWait
	for {
		before := w.seq
		damage, err := w.round(ctx, true)
		switch {
		case err == errEnd:
			return nil
		case err != nil:
			return err
		case w.seq != before:
			began, wait = time.Now(), firstWait
		default:
			if damage.everywhere {
				if err := w.truncated(ctx); err != nil {
					return err
				}
			}
			if time.Since(began) >= w.patience || sleep.For(ctx, wait) != nil {
				if damage.error == nil {
					damage.error = fmt.Errorf("%w: no replica has message %d with record %d", wal.ErrHole, w.seq, max(w.next, w.from))
				}
				return w.missing(ctx, damage.error)
			}
			wait = min(2*wait, maxWait)
		}
	}
}

// Damage is what is wrong with the next message.
type damage struct {
	error      error // nil: nothing
	everywhere bool  // all replicas answered so, though one may have answered for another
	answers    int   // replicas that answered
	helper     int   // the replica that gave messages; 0 is the nearest one
	silent     error // why a replica did not answer; nil: all did
}

// round asks for the next messages: one replica after the other until one of them gives some. If
// all is false it asks the nearest replica only. The error is errEnd or the caller's.
func (w *walk) round(ctx context.Context, all bool) (found damage, err error) {
	before := w.seq
	defer func() {
		if found.error != nil {
			w.told = before // the next rounds find the same
		}
	}()
	for replica, bad := 0, 0; ; replica++ {
		err := w.read(ctx, replica)
		_, stop := errors.AsType[stopError](err)
		switch {
		case err == errEnd || stop:
			return found, err
		case w.seq != before || ctx.Err() != nil:
			found.helper = replica
			return found, nil // what stopped this replica shows again with the next round
		case errors.Is(err, ErrNoReplica):
			found.everywhere = bad > 0 && bad == replica
			return found, nil
		case isDamage(err):
			if w.told != before {
				w.logger.Error("a replica lacks messages or has them damaged, asking another one", "replica", w.server.Replica(replica), "error", err)
			}
			found.error = err
			found.answers++
			bad++
		case err != nil:
			found.silent = err
		default:
			found.answers++
		}
		if !all && found.error == nil && found.silent == nil {
			return found, nil
		}
	}
}

// read asks a replica for the next messages, until none has come for attemptTime. What it gives up
// still comes, in front of what is asked for next: on a slow line nothing else might ever arrive.
func (w *walk) read(ctx context.Context, replica int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := time.AfterFunc(attemptTime, func() { cancel(context.DeadlineExceeded) })
	defer t.Stop()
	return w.server.Read(ctx, replica, w.seq, readMessages, func(seq uint64, b []byte) error {
		t.Stop() // the caller's function may take long
		defer t.Reset(attemptTime)
		return w.take(seq, b)
	})
}

// isDamage says whether err is about what was read, not about reading it.
func isDamage(err error) bool {
	_, corrupt := errors.AsType[*wal.CorruptError](err)
	return corrupt || errors.Is(err, wal.ErrHole)
}

// truncated returns a *wal.TruncatedError if the stream begins behind the next record.
func (w *walk) truncated(ctx context.Context) error {
	oldest, newest, err := w.boundsNow(ctx)
	if err != nil || oldest <= w.seq {
		return nil // it does not, or that is not known
	}
	if first, err := w.findOldest(ctx, newest, 0); err == nil && first > max(w.next, w.from) {
		return &wal.TruncatedError{First: first}
	}
	return nil
}

// missing returns the error for a record that no replica has. It may have been truncated meanwhile.
func (w *walk) missing(ctx context.Context, err error) error {
	want := max(w.next, w.from)
	if _, newest, e := w.bounds(ctx); e == nil {
		if first, e := w.findOldest(ctx, newest, 0); e == nil && first > want {
			return &wal.TruncatedError{First: first}
		}
	}
	return err
}

// take reads one message. After an error the walk stands where it was.
func (w *walk) take(seq uint64, b []byte) error {
	m, err := w.parse(seq, b)
	if err != nil {
		return err
	}
	if w.next == 0 {
		if skip, err := w.begin(m); skip || err != nil {
			return err
		}
	}
	begins := m.Part == 0
	switch {
	case m.First > w.next:
		return fmt.Errorf("%w: message %d begins with position %d, wanted %d", wal.ErrHole, seq, m.First, w.next)
	case m.First < w.next:
		return &wal.CorruptError{Place: place(seq), Err: fmt.Errorf("position %d comes again behind position %d", m.First, w.next-1)}
	case !begins && (m.Part != w.parts.Part || m.Parts != w.parts.Parts || m.Nonce != w.parts.Nonce):
		return fmt.Errorf("%w: message %d is part %d of %d, and the one before is missing", wal.ErrHole, seq, m.Part, m.Parts)
	case m.Kind == claim:
		w.parts, w.whole = header{}, w.whole[:0]
	case m.Parts == 1:
		if err := w.block(m, m.payload); err != nil {
			return err
		}
	default:
		if begins {
			w.whole = w.whole[:0]
		}
		whole := append(w.whole, m.payload...)
		if m.Part+1 == m.Parts {
			if err := w.block(m, whole); err != nil {
				return err
			}
		}
		w.parts, w.whole = m.header, whole
		w.parts.Part++
	}
	w.seq = seq + 1
	if w.next > w.last {
		return errEnd
	}
	return nil
}

// errBack says that a walk goes back to an earlier message.
var errBack = errors.New("the block begins earlier")

// begin looks at the first message of a walk. If it is a later part of the block that is wanted,
// the walk goes back to the first part. A later part of an earlier block is skipped.
func (w *walk) begin(m message) (skip bool, err error) {
	switch {
	case m.First > w.from:
		return false, fmt.Errorf("%w: message %d begins with position %d, wanted %d", wal.ErrHole, m.seq, m.First, w.from)
	case m.Part == 0:
		w.next = m.First
		return false, nil
	case m.First+wal.Pos(m.Count) <= w.from:
		w.seq = m.seq + 1
		return true, nil
	}
	if first := m.seq - min(uint64(m.Part), m.seq-1); w.back == 0 || first < w.back {
		w.seq, w.back = first, first
		return false, errBack
	}
	return false, fmt.Errorf("%w: message %d is part %d of %d, and the one before is missing", wal.ErrHole, m.seq, m.Part, m.Parts)
}

// block yields the records of a block that message m completes.
func (w *walk) block(m message, whole []byte) error {
	b, err := wal.ParseBlock(whole, m.salt(), place(m.seq), w.buf)
	if err != nil {
		return err
	}
	if b.First != m.First || b.Count != int(m.Count) {
		return &wal.CorruptError{Place: place(m.seq), Err: fmt.Errorf("block has %d records from %d on, its message says %d from %d on", b.Count, b.First, m.Count, m.First)}
	}
	if buf := b.Buffer(); buf != nil {
		w.buf = buf
	}
	if w.reached != nil {
		w.reached(b.Last())
	}
	for p, rec := range b.Records() {
		if rec.Err != nil {
			return rec.Err
		}
		if p < w.from || p > w.last {
			continue
		}
		if err := w.fn(p, rec.Data); err != nil {
			return stopError{err}
		}
		w.from = p + 1 // not again, should the block have to be read again
	}
	w.next = b.Last() + 1
	return nil
}
