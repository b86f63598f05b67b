package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// The times between questions for new messages grow from busyWait to idleWait while there are none.
const (
	busyWait = 10 * time.Millisecond
	idleWait = 250 * time.Millisecond
)

// allEvery is how many questions in a row find nothing before all replicas are asked. The nearest
// one may have stopped to follow the others.
const allEvery = 8

// ReaderOptions say how a stream is read.
type ReaderOptions struct {
	// ID is the log that the caller expects. If the stream has another one, OpenReader and Tail
	// return an error that wraps ErrOtherLog. The zero ID accepts any log.
	ID wal.ID

	// Patience is how long a reader waits for a replica to show a record that must be there, before
	// it gives up; default 30 s. It waits without end for servers that do not answer, and for new
	// records.
	Patience time.Duration

	// Logger gets messages that an operator can act on; nil: they are discarded.
	Logger *slog.Logger
}

// ErrOtherLog says that the stream has another log than the expected one.
var ErrOtherLog = errors.New("the stream has another log")

// Reader reads a stream that another process may write. It claims nothing and changes nothing. Its
// methods may be called concurrently.
type Reader struct {
	o      ReaderOptions
	server Server

	closed context.Context // ends with Close
	close  context.CancelFunc

	mu   sync.Mutex // guards what follows
	id   wal.ID     // zero until a message was read
	last wal.Pos    // the newest known position
}

// OpenReader opens a stream for reading and takes over the server, which Close closes. The stream
// may be empty. If OpenReader returns an error the server stays the caller's.
func OpenReader(ctx context.Context, s Server, o ReaderOptions) (*Reader, error) {
	d := Options{Patience: o.Patience, Logger: o.Logger}.withDefaults()
	o.Patience, o.Logger = d.Patience, d.Logger
	r := &Reader{o: o, server: s, id: o.ID}
	r.closed, r.close = context.WithCancel(context.Background())
	f := r.finder()
	oldest, newest, err := f.bounds(ctx)
	if err == nil && newest >= oldest {
		_, err = r.look(ctx, newest)
	}
	if err != nil {
		return nil, fmt.Errorf("look for the end of the stream: %w", err)
	}
	return r, nil
}

// finder returns a finder for the log, as far as it is known.
func (r *Reader) finder() finder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return finder{server: r.server, id: r.id, patience: r.o.Patience, logger: r.o.Logger}
}

// errEmpty says that the stream has no message yet.
var errEmpty = errors.New("the stream is empty")

// look reads message number newest, and learns from it.
func (r *Reader) look(ctx context.Context, newest uint64) (message, error) {
	f := r.finder()
	m, err := f.mustHave(ctx, newest)
	if err == nil {
		r.learn(m.Log, m.end()-1)
	}
	return m, err
}

// learn keeps the id of the log, and a position that is known.
func (r *Reader) learn(id wal.ID, known wal.Pos) {
	r.reached(known)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id = id
}

// reached keeps a position that is known.
func (r *Reader) reached(known wal.Pos) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last, known)
}

// ID identifies the log. It is ReaderOptions.ID until a message was read.
func (r *Reader) ID() wal.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// Last returns the newest position that is known; 0 if none is. The log may have newer records.
func (r *Reader) Last() wal.Pos {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// enter returns the context of a call of Tail, which Close ends, too.
func (r *Reader) enter(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.closed, func() { cancel(wal.ErrClosed) })
	if r.closed.Err() != nil { // the function comes a moment later
		cancel(wal.ErrClosed)
	}
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Close makes Tail return wal.ErrClosed. It does not wait until Tail has returned.
func (r *Reader) Close() error {
	r.close()
	return nil
}
