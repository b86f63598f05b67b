package stream

import (
	"context"
	"fmt"

	"github.com/rondo-db/rondo/wal"
)

// Truncate is as core.Log has it. It drops whole messages, and always keeps the newest records, so
// that the stream still says which position is the next.
func (l *Log) Truncate(upto wal.Pos) error {
	l.mu.Lock()
	err, first := l.writable(), l.oldest
	l.mu.Unlock()
	keep := min(upto+1, l.Last())
	if err != nil || keep <= first {
		return err
	}
	ctx := context.Background()
	m, err := l.find(ctx, keep)
	if err == nil {
		err = l.patiently(ctx, func(ctx context.Context) (bool, error) { return true, l.server.Purge(ctx, m.seq) })
	}
	if err != nil {
		return fmt.Errorf("truncate up to position %d: %w", upto, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.oldest = max(l.oldest, m.First)
	return nil
}
