package stream

import (
	"context"

	"github.com/rondo-db/rondo/wal"
)

// MessageOf returns the message that completes the record at p, of replicas that lack none.
func (l *Log) MessageOf(p wal.Pos) ([]byte, error) {
	ctx := context.Background()
	seq, err := l.find(ctx, p, l.tail.Load())
	if err != nil {
		return nil, err
	}
	m, err := l.message(ctx, seq)
	return m.bytes, err
}
