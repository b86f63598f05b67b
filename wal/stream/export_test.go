package stream

import (
	"context"

	"github.com/rondo-db/rondo/wal"
)

// MessageOf returns the message that completes the record at p.
func (l *Log) MessageOf(p wal.Pos) ([]byte, error) {
	m, err := l.search(context.Background(), func(h header) bool { return h.end() > p })
	return m.bytes, err
}
