package core

import (
	"context"

	"github.com/rondo-db/rondo/wal"
)

// A Log keeps the records of a store in order. It is all that the store asks of a log: segments in
// the store's folder (package wal) are one implementation, a replicated stream may be another.
// [waltest.Run] tests that a log keeps the promises below. Its methods may be called concurrently.
//
// Positions are dense: the first record ever has position 1, and each record has the position after
// the one before it.
//
// Errors are distinguished, wrapped or bare:
//   - wal.ErrRetry: the record was not kept and may be enqueued again.
//   - wal.ErrFull: the record was not kept, because space is missing.
//   - wal.ErrTruncated: the position asked for was truncated away.
//   - wal.ErrHole: positions are missing that should be there.
//   - *wal.CorruptError: a durable record cannot be read.
//   - wal.ErrSealed: this process may not write the log (any more).
//   - wal.ErrClosed: Close was called.
//
// [waltest.Run]: https://pkg.go.dev/github.com/rondo-db/rondo/wal/waltest#Run
type Log interface {
	// Enqueue copies rec behind all records enqueued before and returns its position. It does not
	// wait until the record is durable: the log calls its OnDurable function then. Enqueue may wait
	// for room, but never while OnDurable runs, because the store holds a lock around Enqueue that
	// OnDurable takes. While OnDurable handles a failure, Enqueue returns that error.
	Enqueue(rec []byte) (wal.Pos, error)

	// Barrier waits until all records enqueued before are durable, and returns a position at or
	// above all of them.
	Barrier(ctx context.Context) (wal.Pos, error)

	// Replay calls fn, in order, for each record from position from on (0: from First) that was
	// durable when Replay was called. The record is valid during the call. An error of fn ends
	// Replay, which returns it as it is.
	Replay(from wal.Pos, fn func(p wal.Pos, rec []byte) error) error

	// Truncate allows the log to drop the records at and below upto. Some may stay readable.
	Truncate(upto wal.Pos) error

	// First returns the position of the oldest record kept. Without records it is the position of
	// the next one.
	First() wal.Pos

	// Last returns the position of the newest durable record; 0: the log never had one.
	Last() wal.Pos

	// Close makes durable what is enqueued and ends the log. A second Close returns nil.
	Close() error
}

// OnDurable is what a log calls to report to the store that the records first to last are durable.
// If err is not nil, it kept none of them, and gives their positions to later records. The log
// makes the calls in the order of positions, one at a time. Records enqueued behind failed records
// fail, too, because they were coded against these.
type OnDurable = func(first, last wal.Pos, err error)

// A log may offer more than a Log must. Segments do, and the store uses it.
type (
	// A countedLog counts bytes and syncs, for Stats.
	countedLog interface{ Stats() wal.Stats }
	// An identifiedLog says which log it is, or zeros as long as that is not known. The database
	// keeps the identity, and refuses another log. A Source may have it, too.
	identifiedLog interface{ ID() wal.ID }
)

var _ interface {
	Log
	countedLog
	identifiedLog
} = (*wal.Log)(nil)

// logStats returns the counters of the log, or zeros if the log is not a countedLog.
func (s *Store) logStats() wal.Stats {
	if l, ok := s.log.get().(countedLog); ok {
		return l.Stats()
	}
	return wal.Stats{}
}
