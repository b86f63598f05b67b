package stream

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// Options say how a log writes.
type Options struct {
	// After is a position that the caller already holds durably. The log gives out no position at
	// or below it: an empty stream starts behind it. If a stream has messages and ends before
	// After, Open returns an error that wraps wal.ErrHole and wal.ErrLost.
	After wal.Pos

	// Anew begins a log anew behind After that has lost its end, or all of it, in place of the
	// error. It keeps its ID. The caller holds every record up to After, and nobody holds more.
	// Readers that are further behind find positions missing, or truncated.
	Anew bool

	// ID is the log that the caller expects. If the stream has another one, or none, Open writes no
	// claim and returns an error that wraps ErrOtherLog, and wal.ErrLost if the stream is empty.
	// The zero ID accepts any log.
	ID wal.ID

	// OnDurable reports that records are durable, or that they were not kept, as in wal.Options.
	OnDurable func(first, last wal.Pos, err error)

	// BatchBytes is how much is sent without waiting for more; default 64 KiB. A message costs the
	// servers about a millisecond of CPU time, whatever its size.
	BatchBytes int

	// Linger is how long less than BatchBytes waits for more; default 20 ms. A barrier and Close do
	// not wait. A negative value sends everything at once.
	Linger time.Duration

	// MaxPendingBytes bounds the records that are enqueued and not yet durable; default 16 MiB.
	// Enqueue waits beyond it.
	MaxPendingBytes int

	// Retry is how long the log offers a record again that the servers refuse for a passing reason,
	// because they have no leader for example, before the record fails with wal.ErrRetry; default
	// 25 s, about three times what the choice of a leader takes. A negative value gives up at once.
	Retry time.Duration

	// Patience is how long the log waits for servers that do not answer; default 30 s. After that
	// Enqueue refuses records for which it has no room, Replay returns an error, and Close gives
	// up. Records that were enqueued stay pending as long as they may be stored.
	Patience time.Duration

	// Logger gets messages that an operator can act on; nil: they are discarded.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.OnDurable == nil {
		o.OnDurable = func(wal.Pos, wal.Pos, error) {}
	}
	o.BatchBytes = cmp.Or(o.BatchBytes, 64<<10)
	o.Linger = cmp.Or(o.Linger, 20*time.Millisecond)
	o.MaxPendingBytes = cmp.Or(o.MaxPendingBytes, 16<<20)
	o.Retry = cmp.Or(o.Retry, 25*time.Second)
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, discarding)
	return o
}
