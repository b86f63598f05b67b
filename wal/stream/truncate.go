package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// Truncate is as core.Log has it. It drops whole messages, and always keeps the newest records, so
// that the stream still says which position is the next. If another process writes the log, it
// drops nothing and returns wal.ErrSealed.
//
// A writer without records learns only here that another process writes the log, or that the stream
// has lost its end. So Truncate asks for that also if nothing is to be dropped. If the stream has
// ended too early for Options.Retry, whenever Truncate has looked, the error wraps wal.ErrSealed
// and wal.ErrLost. Servers that do not answer are no error then.
func (l *Log) Truncate(upto wal.Pos) error {
	l.mu.Lock()
	err, first := l.writable(), l.oldest
	l.mu.Unlock()
	if err == nil {
		err = l.look()
	}
	keep := min(upto+1, l.Last())
	if err != nil || keep <= first {
		return err
	}
	if first, err = l.purge(context.Background(), keep); err != nil {
		return fmt.Errorf("truncate up to position %d: %w", upto, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.oldest = max(l.oldest, first)
	return nil
}

// purge removes the messages below the block that has the record at keep, and returns the block's
// first position. If the replicas that answer lack a part of the block, it removes nothing and
// returns 0: the next truncation removes more.
func (l *Log) purge(ctx context.Context, keep wal.Pos) (wal.Pos, error) {
	seq, err := l.find(ctx, keep, l.tail.Load())
	if err != nil {
		return 0, err
	}
	m, err := l.mustHave(ctx, seq)
	if err != nil || keep < m.First || keep >= m.end() {
		return 0, err
	}
	for m.Part > 0 { // on some servers the parts are not dense
		before, err := l.mustHave(ctx, m.seq-min(m.seq-1, uint64(m.Part)))
		if err != nil || before.seq >= m.seq || before.First != m.First {
			return 0, err
		}
		m = before
	}
	if err := l.stillWriter(ctx); err != nil {
		return 0, err
	}
	err = l.patiently(ctx, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, attemptTime)
		defer cancel()
		return true, l.server.Purge(ctx, m.seq)
	})
	return m.First, err
}

// look returns an error that wraps wal.ErrSealed if another process writes the log, or if the
// stream has lost its end. It takes attemptTime at most.
func (l *Log) look() error {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTime)
	defer cancel()
	after := l.tail.Load()
	if err := l.stillWriter(ctx); errors.Is(err, wal.ErrSealed) {
		return err
	}
	_, newest, err := l.boundsNow(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil: // nobody knows
	case newest >= after, len(l.pending) > 0: // or a record finds out
		l.short = time.Time{}
	case l.short.IsZero():
		l.short = time.Now()
	case time.Since(l.short) >= l.o.Retry && l.sealed == nil:
		l.sealed = fmt.Errorf("%w: %w: the stream ends at message %d, and message %d was written", wal.ErrSealed, wal.ErrLost, newest, after)
	}
	return l.sealed
}

// stillWriter returns wal.ErrSealed if a replica shows another writer's claim. A writer learns it
// with its next record otherwise, and there may be none for a long time.
func (l *Log) stillWriter(ctx context.Context) error {
	m, err := l.message(ctx, l.tail.Load()+1)
	switch {
	case errors.Is(err, errNone):
		return nil
	case err != nil:
		return err
	case m.Writer == l.writer && m.Nonce == l.nonce:
		return nil // written since
	}
	return l.deposed(m)
}
