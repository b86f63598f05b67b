package core

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// Options says how a store is opened. The zero value is what production runs.
type Options struct {
	// Sync says when an append is acknowledged: after fdatasync (the default), or before. The
	// constants of type wal.Sync name the risk.
	Sync wal.Sync
	// SyncInterval is the longest time between two syncs with wal.SyncInterval; default 1 s.
	SyncInterval time.Duration
	// Reorder holds every sample back until a sample of the same series is this much later, so that
	// samples that arrive out of order are put in order. Whole seconds; default 0.
	Reorder time.Duration
	// MaxSeries is the largest number of series; 0: 10 million.
	MaxSeries int
	// MaxRows is the largest number of rows that an archive of a new, imported or altered series
	// may have; 0: DefaultMaxRows. Existing series keep their rows.
	MaxRows int64
	// Memory is the budget in bytes for states, rows not yet stored and queues; 0: 4 GiB.
	// Appends wait, and idle groups of series are unloaded, to keep within it.
	Memory int64
	// CheckpointBytes is the volume of log after which a checkpoint starts; 0: 64 MiB.
	CheckpointBytes int64
	// CheckpointInterval is the longest time between two checkpoints; 0: 20 minutes.
	CheckpointInterval time.Duration
	// NoBackground leaves checkpoints to calls of Checkpoint and Close. As with ReadOnly, samples
	// that are only in the log are applied when their series is first used, so that Open costs
	// little. It is for a process that runs one command.
	NoBackground bool
	// ReadOnly opens the store for reading; other processes may read at the same time.
	ReadOnly bool
	// Owner names this process in the error of another process that finds the store locked;
	// default: the program's name.
	Owner string
	// Logger gets messages that an operator can act on; nil: they are discarded.
	Logger *slog.Logger

	// OpenLog opens the log of the store, if it is not the segments in the store's folder. The log
	// gives out no position at or below after, and calls onDurable. SalvageLog, Salvage and
	// Restore do not use OpenLog. Default: nil.
	OpenLog func(after wal.Pos, onDurable OnDurable) (Log, error) `json:"-"`
	// Follow opens the log for reading only, and makes Open return a store that follows it, from
	// position after+1 on. OpenLog is used by Promote. The store is not the only one that has the
	// log, so that checkpoints do not truncate it: see Store.Truncate. Default: nil.
	Follow func(after wal.Pos) (Source, error) `json:"-"`
	// Beside calls put with each text that backups hold besides the database: its name,
	// dashboards/FILE or rules/FILE, and its content of at most 4 MiB, in the order of the names.
	// Restore puts them into the database's folder. nil: there are none.
	Beside func(put func(name string, content []byte) error) error `json:"-"`

	salvage *salvaging // set by Salvage, which reads a store with missing parts

	// For tests: the file system of the log, and the function called at failpoints.
	fs   wal.FS
	hook func(string)
	// room returns the free bytes of the disk; nil: the system is asked.
	room func() (int64, error)
	// compactFrom is the least bytes of free pages for which a store is compacted when it is
	// opened.
	compactFrom int64
	// maxClasses stands for MaxClasses.
	maxClasses int
	// fault is called before calls on the database's file.
	fault func(op string, f *os.File, off int64, b []byte) error
}

// check refuses options out of range. The error matches ErrInvalid and names the field.
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
	if o.Follow != nil && o.ReadOnly {
		return invalid("Options.Follow with Options.ReadOnly: what is followed is written into the database")
	}
	if o.Reorder%time.Second != 0 {
		return invalid("Options.Reorder is %v: not a whole number of seconds", o.Reorder)
	}
	return nil
}

// withDefaults returns o with the defaults in place of zeros.
func (o Options) withDefaults() Options {
	o.SyncInterval = cmp.Or(o.SyncInterval, time.Second)
	o.MaxSeries = cmp.Or(o.MaxSeries, 10_000_000)
	o.MaxRows = cmp.Or(o.MaxRows, DefaultMaxRows)
	o.Memory = cmp.Or(o.Memory, 4<<30)
	o.CheckpointBytes = cmp.Or(o.CheckpointBytes, 64<<20)
	o.CheckpointInterval = cmp.Or(o.CheckpointInterval, 20*time.Minute)
	o.Owner = cmp.Or(o.Owner, filepath.Base(os.Args[0]))
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.compactFrom = cmp.Or(o.compactFrom, compactSpare)
	o.maxClasses = cmp.Or(o.maxClasses, MaxClasses)
	return o
}

// logSettings logs the reorder window of the options if another window is in force.
func (s *Store) logSettings() error {
	want := rra.TimeOf(time.UnixMicro(int64(s.options.Reorder / time.Microsecond)))
	if s.options.ReadOnly || want == s.appender.shards[0].reorder {
		return nil
	}
	rec := record.AppendTime([]byte{record.KindSettings}, want, 0)
	if err := s.enterWrite(); err != nil {
		return err
	}
	defer s.leave()
	return s.changeNow(Number{}, rec, func(t *Ticket) error { s.applySettings(t, want); return nil }, s.appender.lock)
}

// applySettings puts a reorder window in force.
func (s *Store) applySettings(t *Ticket, window rra.Time) {
	t.op.all = func(sh *shard) { sh.reorder = window }
	s.catalogue.set(t.pos, window)
}
