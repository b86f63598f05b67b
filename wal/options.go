package wal

import (
	"cmp"
	"crypto/rand"
	"fmt"
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
	// SyncInterval acknowledges a record when it is written, and syncs by the clock: loss of power
	// may take the records of the last interval.
	SyncInterval
	// SyncNone leaves syncing to the operating system: loss of power may take every record that it
	// has not written to disk.
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

// Options configure a log. The zero value is what production runs.
type Options struct {
	// FS is the file system of the folder; nil: the operating system's.
	FS FS

	// SegmentBytes is the size at which a segment is closed and the next one begun; default 64 MiB.
	// Truncate gives back space by whole segments, and beginning a segment costs two or three
	// syncs.
	SegmentBytes int64

	// Sync says when a record counts as durable; default SyncAlways.
	Sync Sync

	// Interval is the time between syncs with SyncInterval; default 1 s.
	Interval time.Duration

	// MaxPendingBytes bounds the records that are enqueued and not yet durable; default 16 MiB.
	// Enqueue waits beyond it.
	MaxPendingBytes int64

	// After is a position that the caller knows to be durable. The log gives out no position at or
	// below it: an empty log starts behind it. If a log has records and ends before After, records
	// are missing: Open returns an error that wraps ErrHole.
	After Pos

	// Log is the id of the log that the caller wants. If the log is missing, or is another one,
	// Open returns an error that wraps ErrHole. With the zero value Open accepts any log, and makes
	// one if the folder is empty.
	Log ID

	// OnDurable is called once a commit, in the order of positions, on the goroutine that commits.
	// The records first to last are durable; or err says why none of them is, and their positions
	// are given out again. While OnDurable handles a failure, no Enqueue succeeds. OnDurable must
	// not call Enqueue, Append, Wait, Barrier, Truncate or Close.
	OnDurable func(first, last Pos, err error)

	// FailFast makes Enqueue never wait while OnDurable runs. It is for a caller that holds a lock
	// around Enqueue which OnDurable takes too. If OnDurable handles a failure, Enqueue returns
	// that error; else it takes the record, however much is pending.
	FailFast bool

	// ReadOnly opens the log without a lock and without writing, even if it is damaged: Replay
	// gives what can be read, and returns the damage where it meets it. Enqueue returns ErrSealed.
	ReadOnly bool

	// DisablePreallocate neither reserves space ahead nor keeps truncated segments for reuse. That
	// saves their space, and makes every sync cost a third more on ext4.
	DisablePreallocate bool

	// Logger gets torn tails, failed commits, and when commits succeed again; nil: silent.
	Logger *slog.Logger

	random func([]byte) // fills salts and ids; nil but in tests
}

func (o Options) withDefaults() (Options, error) {
	o.FS = cmp.Or[FS](o.FS, osFS{})
	o.SegmentBytes = cmp.Or(o.SegmentBytes, 64<<20)
	o.Interval = cmp.Or(o.Interval, time.Second)
	o.MaxPendingBytes = cmp.Or(o.MaxPendingBytes, 16<<20)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.OnDurable == nil {
		o.OnDurable = func(Pos, Pos, error) {}
	}
	if o.random == nil {
		o.random = func(b []byte) { _, _ = rand.Read(b) } // never fails
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
