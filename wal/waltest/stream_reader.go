package waltest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/wal"
)

// A StreamReader follows a Stream without being its writer.
type StreamReader struct {
	stream *Stream
	last   atomic.Uint64
	once   sync.Once
	closed chan struct{}
}

var _ Reader = (*StreamReader)(nil)

// Reader returns a new reader of the stream.
func (s *Stream) Reader() *StreamReader {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &StreamReader{stream: s, closed: make(chan struct{})}
	r.last.Store(uint64(s.last()))
	return r
}

// Tail is as [Reader] has it.
func (r *StreamReader) Tail(ctx context.Context, from wal.Pos, fn func(p wal.Pos, rec []byte) error) error {
	for {
		recs, next, grown, err := r.stream.readOn(from)
		if err != nil {
			return err
		}
		from = next
		for _, rec := range recs {
			if err := r.ended(ctx); err != nil {
				return err
			}
			if err := r.stream.readable(from, rec); err != nil {
				return err
			}
			if r.stream.Cut != nil {
				if err := r.stream.Cut(from); err != nil {
					return err
				}
			}
			r.last.Store(max(r.last.Load(), uint64(from)))
			if err := fn(from, rec); err != nil {
				return err
			}
			from++
		}
		select {
		case <-grown:
		case <-ctx.Done():
		case <-r.closed:
		}
		if err := r.ended(ctx); err != nil {
			return err
		}
	}
}

// ended returns why Tail ends, or nil.
func (r *StreamReader) ended(ctx context.Context) error {
	select {
	case <-r.closed:
		return wal.ErrClosed
	default:
		return ctx.Err()
	}
}

// ID returns the stream's ID.
func (r *StreamReader) ID() wal.ID { return r.stream.id }

// Last is as [Reader] has it.
func (r *StreamReader) Last() wal.Pos { return wal.Pos(r.last.Load()) }

// Close is as [Reader] has it.
func (r *StreamReader) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

// readOn returns the records from position from on (0: from the oldest), the position of the first
// of them, and a channel that is closed when there are more.
func (s *Stream) readOn(from wal.Pos) (recs [][]byte, first wal.Pos, grown <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if recs, first, err = s.readHeld(from); err != nil {
		return nil, 0, nil, fmt.Errorf("follow the stream: %w", err)
	}
	return recs, first, s.grown, nil
}
