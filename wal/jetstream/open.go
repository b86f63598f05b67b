package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/wal/stream"
)

// Open connects to the servers and becomes the writer of the stream. Closing the log closes the
// connection. If a setting would lose data, the error is a *stream.SettingError for each.
func Open(ctx context.Context, o Options) (*stream.Log, error) {
	s, err := alone(ctx, o, writes)
	if err != nil {
		return nil, err
	}
	l, err := stream.Open(ctx, s, o.Log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open stream %s: %w", o.Stream, err), s.Close())
	}
	return l, nil
}

// OpenReader connects to the servers and opens the stream for reading; it does not ask how they
// sync. Closing the reader closes the connection.
func OpenReader(ctx context.Context, o Options, how stream.ReaderOptions) (*stream.Reader, error) {
	s, err := alone(ctx, o, reads)
	if err != nil {
		return nil, err
	}
	r, err := stream.OpenReader(ctx, s, how)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read stream %s: %w", o.Stream, err), s.Close())
	}
	return r, nil
}

// alone returns the Server of a stream that has a connection of its own.
func alone(ctx context.Context, o Options, what purpose) (*Server, error) {
	c, err := Connect(o)
	if err != nil {
		return nil, err
	}
	s, err := c.open(ctx, o.Stream, what)
	if err != nil {
		c.Close()
		return nil, err
	}
	s.alone = true
	return s, nil
}
