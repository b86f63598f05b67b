package core

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// Options says how a store is opened. The zero value is what production runs.
type Options struct {
	// Sync says when an append is acknowledged: after fdatasync (the default),
	// or before, at the risk its constants name.
	Sync wal.Sync
	// SyncInterval is the longest time between two syncs with wal.SyncInterval; default 1 s.
	SyncInterval time.Duration
	// Reorder holds every sample back until a later one of its series is this
	// much ahead, so that samples out of order are put in order. Whole seconds; default 0.
	Reorder time.Duration
	// MaxSeries is the largest number of series; 0: 10 million.
	MaxSeries int
	// MaxRows is the largest number of rows that an archive of a new, imported or altered series
	// may have; 0: DefaultMaxRows. Series that have more already keep them.
	MaxRows int64
	// Memory is the budget in bytes for states, rows not yet stored and queues; 0: 4 GiB.
	// Appends wait, and idle groups of series are unloaded, to keep within it.
	Memory int64
	// CheckpointBytes is the volume of log after which a checkpoint starts; 0: 64 MiB.
	CheckpointBytes int64
	// CheckpointInterval is the longest time between two checkpoints; 0: 20 minutes.
	CheckpointInterval time.Duration
	// NoBackground leaves checkpoints to calls of Checkpoint and Close. As with ReadOnly, samples
	// that are only in the log are applied when their series are first asked for, so that Open
	// costs little: it is for a process that does one thing.
	NoBackground bool
	// ReadOnly opens the store for reading; other processes may read at the same time.
	ReadOnly bool
	// Owner is what a second process is told about who holds the store; default: the program's
	// name.
	Owner string
	// Logger takes what an operator can act on; nil: silent.
	Logger *slog.Logger

	// OpenLog opens the log of the store where it is not the segments in the store's folder. The
	// log gives out no position at or below after, and calls onDurable. Salvage, Restore and what
	// repairs a store do not use it. Default: nil.
	OpenLog func(after wal.Pos, onDurable OnDurable) (Log, error) `json:"-"`

	rebuild *rebuild // of a repair: makes states anew

	// For tests: where the log lies, and what is called at failpoints.
	fs   wal.FS
	hook func(string)
	// fault is asked before calls on the database's file.
	fault func(op string, f *os.File, off int64, b []byte) error
}

// check refuses options that nobody can mean. The error is ErrInvalid and names the field.
func (o *Options) check() error {
	if o.Sync < wal.SyncAlways || o.Sync > wal.SyncNone {
		return invalid("Options.Sync is %d, which is none of the constants", o.Sync)
	}
	for _, f := range []struct {
		name  string
		value any
		less  bool
	}{
		{"SyncInterval", o.SyncInterval, o.SyncInterval < 0},
		{"Reorder", o.Reorder, o.Reorder < 0},
		{"MaxSeries", o.MaxSeries, o.MaxSeries < 0},
		{"MaxRows", o.MaxRows, o.MaxRows < 0},
		{"Memory", o.Memory, o.Memory < 0},
		{"CheckpointBytes", o.CheckpointBytes, o.CheckpointBytes < 0},
		{"CheckpointInterval", o.CheckpointInterval, o.CheckpointInterval < 0},
	} {
		if f.less {
			return invalid("Options.%s is %v: less than 0", f.name, f.value)
		}
	}
	if o.Reorder%time.Second != 0 {
		return invalid("Options.Reorder is %v: not a whole number of seconds", o.Reorder)
	}
	return nil
}

// withDefaults returns o with the defaults in place of zeros.
func (o Options) withDefaults() Options {
	def := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	if o.MaxSeries == 0 {
		o.MaxSeries = 10_000_000
	}
	def(&o.MaxRows, DefaultMaxRows)
	def(&o.Memory, 4<<30)
	def(&o.CheckpointBytes, 64<<20)
	def((*int64)(&o.CheckpointInterval), int64(20*time.Minute))
	def((*int64)(&o.SyncInterval), int64(time.Second))
	if o.Owner == "" {
		o.Owner = filepath.Base(os.Args[0])
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
