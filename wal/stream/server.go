package stream

import (
	"context"
	"errors"
)

// A Server stores the messages of one stream. Messages have sequence numbers that grow, but need
// not be dense. What was stored never changes. Its methods may be called concurrently.
type Server interface {
	// Publish appends msg if the newest message of the stream has the sequence number after (0: if
	// there never was one), and returns its sequence number when it is durable. All attempts to
	// store one message have the same id, and no other message has it.
	//
	// If Publish stored nothing it returns ErrConflict because another message is the newest, or an
	// error that wraps wal.ErrFull or wal.ErrRetry. After any other error the message may be
	// stored, now or later.
	Publish(ctx context.Context, after uint64, id string, msg []byte) (seq uint64, err error)

	// Read calls fn for the first messages whose sequence number is from or above, in order: n of
	// them at most, and fewer if they are large. A replica may not have the newest messages yet:
	// that fn was not called does not mean that the stream ends there. msg is valid during the
	// call. An error of fn ends Read, which returns it as it is.
	//
	// With replica 0 any replica may answer. With 1, 2 and so on another one does, if possible,
	// each time a different one. If there are fewer replicas Read returns ErrNoReplica.
	Read(ctx context.Context, replica int, from uint64, n int, fn func(seq uint64, msg []byte) error) error

	// Bounds returns the sequence numbers of the oldest and the newest message. If there is no
	// message, newest is below oldest and is what Publish takes as after. Both may be out of date.
	Bounds(ctx context.Context) (oldest, newest uint64, err error)

	// Purge removes the messages below a sequence number.
	Purge(ctx context.Context, below uint64) error

	// MaxMessage is the size of the largest message in bytes.
	MaxMessage() int

	// Replica names the replica that answers Read, for people.
	Replica(replica int) string

	// Announce wakes all who listen to the stream: there is something new. It does not wait. It may
	// be lost, and some servers have none: readers ask by themselves, too, less often.
	Announce()
	// Listen has heard called, by any goroutine, for each announcement from now on until stop is
	// called. heard does not wait.
	Listen(heard func()) (stop func(), err error)
}

// Errors of a Server.
var (
	// ErrConflict says that a message was not stored, because it does not follow on the newest one.
	ErrConflict = errors.New("another message is the newest of the stream")
	// ErrNoReplica says that the stream has fewer replicas than asked for.
	ErrNoReplica = errors.New("the stream has no other replica")
)
