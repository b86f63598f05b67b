package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/wal"
)

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
		return fmt.Errorf("replay from position %d: %w", from, &wal.TruncatedError{First: first})
	case from > last+1:
		return fmt.Errorf("replay from position %d: %w: last is %d", from, wal.ErrHole, last)
	case from > last:
		return nil
	}
	seq, err := l.find(ctx, from, l.tail.Load())
	if err == nil {
		w := walk{finder: l.finder, seq: seq, from: from, last: last, fn: fn}
		err = w.toEnd(ctx)
	}
	if stop, ok := errors.AsType[stopError](err); ok {
		return stop.error
	}
	if err != nil {
		return fmt.Errorf("replay from position %d: %w", from, err)
	}
	return nil
}
