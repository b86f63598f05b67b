package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// Tail calls fn for each record from position from on (0: from the oldest), in order, and goes on
// with the records that writers append, until ctx ends. The record is valid during the call. Tail
// never returns nil. It returns
//   - the error of fn, as it is;
//   - the error of ctx, or wal.ErrClosed;
//   - a *wal.TruncatedError if the log no longer reaches back to the next position;
//   - an error that wraps wal.ErrHole or is a *wal.CorruptError, if no replica has shown the next
//     record whole for ReaderOptions.Patience;
//   - an error that wraps wal.ErrLost if the log has ended before from-1, or before what was read,
//     for ReaderOptions.Patience. It also wraps wal.ErrHole;
//   - an error that wraps ErrOtherLog.
//
// Tail yields the records of whole blocks only. It waits for servers that do not answer.
func (r *Reader) Tail(ctx context.Context, from wal.Pos, fn func(p wal.Pos, rec []byte) error) error {
	ctx, done := r.enter(ctx)
	defer done()
	w, err := r.start(ctx, from)
	if err == nil {
		w.fn = func(p wal.Pos, rec []byte) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fn(p, rec)
		}
		err = r.follow(ctx, w)
	}
	if stop, ok := errors.AsType[stopError](err); ok {
		return stop.error
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("follow the stream from position %d: %w", from, err)
}

// start finds the message to begin with. It waits for servers that do not answer, and for the first
// message, unless records are held already.
func (r *Reader) start(ctx context.Context, from wal.Pos) (*walk, error) {
	q := quiet{reader: r}
	for began := time.Now(); ; {
		w, err := r.tryStart(ctx, from)
		switch {
		case err == nil, isFinal(err):
			return w, err
		case errors.Is(err, errEmpty):
			if q.answered(); from > 1 && time.Since(began) >= r.o.Patience {
				return nil, endsBefore(0, from-1)
			}
		default:
			q.failed(err)
			began = time.Now()
		}
		if sleep.For(ctx, q.pause()) != nil {
			return nil, ctx.Err()
		}
	}
}

// isFinal says whether err stays what it is, however long one waits.
func isFinal(err error) bool { return isDamage(err) || errors.Is(err, wal.ErrTruncated) }

// tryStart finds the message to begin with.
func (r *Reader) tryStart(ctx context.Context, from wal.Pos) (*walk, error) {
	f := r.finder()
	oldest, newest, err := f.bounds(ctx)
	if err != nil {
		return nil, err
	}
	if newest < oldest {
		return nil, errEmpty
	}
	m, err := r.look(ctx, newest)
	if err != nil {
		return nil, err
	}
	f = r.finder() // it knows the log now
	first, err := f.findOldest(ctx, m.seq, m.end())
	switch {
	case err != nil:
		return nil, err
	case from == 0:
		from = first
	case from < first:
		return nil, &wal.TruncatedError{First: first}
	}
	// If the record is still to come, or the bounds were out of date, the newest message is the one
	// to begin with.
	seq, err := f.find(ctx, from, m.seq)
	if err != nil && err != errBeyond {
		return nil, err
	}
	return &walk{finder: f, seq: seq, from: from, last: math.MaxUint64, reached: r.reached}, nil
}

// follow reads without end.
func (r *Reader) follow(ctx context.Context, w *walk) error {
	q := quiet{reader: r, news: make(chan struct{}, 1)}
	if stop, err := r.server.Listen(q.heard); err != nil {
		r.o.Logger.Warn("a reader is not told of new records, and asks for them less often", "error", err)
	} else {
		defer stop()
	}
	began := time.Now() // when the walk last came on, or no replica answered
	late := false       // the nearest replica is behind another one
	for fruitless := 0; ; {
		seq, short := w.seq, w.next < w.from
		damage, err := w.round(ctx, fruitless%allEvery == allEvery-1 || short || late)
		if err != nil {
			return err
		}
		if w.seq != seq {
			q.answered()
			q.wait, began, fruitless, late = 0, time.Now(), 0, damage.helper > 0
			continue
		}
		switch {
		case damage.everywhere:
			if err := w.truncated(ctx); err != nil {
				return err
			}
			q.answered()
		case damage.answers == 0:
			q.failed(damage.silent)
			began = time.Now()
		default:
			q.answered()
		}
		if time.Since(began) >= w.patience {
			if damage.error != nil {
				return w.missing(ctx, damage.error)
			}
			if short {
				return endsBefore(w.next-1, w.from-1)
			}
			if _, newest, err := w.boundsNow(ctx); err == nil && newest+1 < w.seq {
				return fmt.Errorf("%w: %w: the stream ends at message %d, and message %d was read", wal.ErrHole, wal.ErrLost, newest, w.seq-1)
			}
			began = time.Now()
		}
		if !q.sleep(ctx) {
			return ctx.Err()
		}
		fruitless++
	}
}

// quiet is a time without new messages.
type quiet struct {
	reader *Reader
	wait   time.Duration // the last pause
	mute   time.Time     // since when no replica answers; zero: one does
	told   bool          // that none does
	news   chan struct{} // has something when a writer has announced it; holds one
}

// heard ends a pause: there is something new.
func (q *quiet) heard() {
	select {
	case q.news <- struct{}{}:
	default: // the reader knows
	}
}

// sleep waits for news, for a while, and says whether ctx goes on. After news it is busy again: the
// nearest replica may get them later than the reader hears of them.
func (q *quiet) sleep(ctx context.Context) bool {
	t := time.NewTimer(q.pause())
	defer t.Stop()
	select {
	case <-q.news:
		q.wait = 0
	case <-t.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// pause returns how long to wait before the next question.
func (q *quiet) pause() time.Duration {
	q.wait = min(max(2*q.wait, busyWait), idleWait)
	return q.wait
}

// answered says that a replica has answered.
func (q *quiet) answered() {
	if q.told {
		q.reader.o.Logger.Info("stream answers again", "after", time.Since(q.mute))
	}
	q.mute, q.told = time.Time{}, false
}

// failed says that a question had no answer. If that goes on, it is logged for an operator.
func (q *quiet) failed(err error) {
	if q.mute.IsZero() {
		q.mute = time.Now()
	} else if !q.told && time.Since(q.mute) >= q.reader.o.Patience {
		q.reader.o.Logger.Warn("stream does not answer: waiting", "error", err)
		q.told = true
	}
}
