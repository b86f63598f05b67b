package wal

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Pos is the position of a record: its number, counted from 1 without gaps. Zero is no position.
type Pos uint64

// Sync says when a record counts as durable.
type Sync int

const (
	// SyncAlways waits for fdatasync: an acknowledged record survives a crash and loss of power.
	SyncAlways Sync = iota
	// SyncInterval acknowledges when written and syncs by the clock: loss of power may take the last interval.
	SyncInterval
	// SyncNone leaves syncing to the operating system: loss of power may take everything it has not written.
	SyncNone
)

// String gives the name the command line uses: always, interval or none.
func (s Sync) String() string {
	switch s {
	case SyncAlways:
		return "always"
	case SyncInterval:
		return "interval"
	case SyncNone:
		return "none"
	}
	return fmt.Sprintf("sync(%d)", int(s))
}

// MaxRecord is the longest record a log takes.
const MaxRecord = 16 << 20

// Options say how a log is kept. The zero value is what production runs.
type Options struct {
	// FS is where the folder lies; nil is the operating system's file system.
	FS FS

	// SegmentBytes is the size at which a segment is closed and the next one begun; default 64 MiB. Space is
	// given back a segment at a time, and starting one costs two or three syncs.
	SegmentBytes int64

	// Sync says when a record counts as durable; default SyncAlways.
	Sync Sync

	// Interval is the time between syncs with SyncInterval; default 1 s.
	Interval time.Duration

	// MaxPendingBytes bounds what is enqueued and not yet durable; default 16 MiB. Enqueue waits beyond it.
	MaxPendingBytes int64

	// After is a position the caller already holds durably: none at or below it is ever given out. An empty log
	// starts behind it. A log with records that ends before it lacks some, and Open returns an error that wraps ErrHole.
	After Pos

	// Holds is a mark of the log that the caller has kept. Open returns an error that wraps ErrHole or a
	// *CorruptError if the log is missing, is another one, or does not reach as far. The zero value knows nothing, and
	// Open makes a log where there is none.
	Holds Mark

	// OnDurable is called from the committer, in order, once a commit: records first to last are durable, or
	// err says why they are not, and their positions are given out again. While it is told of a failure no
	// Enqueue succeeds. It must not call Enqueue, Append, Wait, Barrier, Truncate or Close.
	OnDurable func(first, last Pos, err error)

	// FailFast is for a caller that holds a lock around Enqueue which OnDurable takes too: while OnDurable is
	// called Enqueue does not wait. It answers with the error if a failure is told, and else takes the record,
	// however much is pending.
	FailFast bool

	// ReadOnly opens without lock and without writing, damage and all: what can be read is read, Replay tells
	// the damage where it meets it. Enqueue answers ErrSealed.
	ReadOnly bool

	// DisablePreallocate neither allocates ahead nor keeps truncated segments for reuse. It costs a third more
	// for every sync on ext4 and saves the space of the segments kept.
	DisablePreallocate bool

	// Logger hears of torn tails, failed commits and recovery from them; nil is silence.
	Logger *slog.Logger

	random func([]byte) // fills salts and ids; nil but in tests
}

func (o Options) withDefaults() (Options, error) {
	if o.FS == nil {
		o.FS = osFS{}
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 20
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.MaxPendingBytes == 0 {
		o.MaxPendingBytes = 16 << 20
	}
	if o.OnDurable == nil {
		o.OnDurable = func(Pos, Pos, error) {}
	}
	if o.random == nil {
		o.random = func(b []byte) { _, _ = rand.Read(b) } // never fails
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	switch {
	case o.SegmentBytes < 0:
		return o, fmt.Errorf("wal options: segment size %d is negative", o.SegmentBytes)
	case o.Interval < 0:
		return o, fmt.Errorf("wal options: sync interval %v is negative", o.Interval)
	case o.MaxPendingBytes < 0:
		return o, fmt.Errorf("wal options: pending limit %d is negative", o.MaxPendingBytes)
	case o.Sync < SyncAlways || o.Sync > SyncNone:
		return o, fmt.Errorf("wal options: unknown %v", o.Sync)
	}
	return o, nil
}
