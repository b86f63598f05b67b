package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A Sync says when Append returns.
type Sync int

const (
	// SyncAlways returns when the samples are on the disk: a crash or loss of power takes nothing.
	// It is the default.
	SyncAlways Sync = iota
	// SyncInterval returns when the samples are written, and syncs once in a while
	// (Options.SyncInterval): a crash of the program takes nothing, loss of power may take the last
	// interval.
	SyncInterval
	// SyncNone leaves it to the operating system: loss of power may take everything that it has not
	// written.
	SyncNone
)

// Options says how a store is opened. The zero value is right for most programs.
type Options struct {
	Sync         Sync
	SyncInterval time.Duration // with SyncInterval; default 1 s
	// Reorder puts samples that come out of order in order: each is held until a later one of its
	// series is this much ahead. A sample that is held is durable, and Fetch and Info do not show
	// it yet: the newest samples of a series, up to this time back, stay unseen until later ones
	// arrive. Whole seconds; 0 refuses samples that are late.
	Reorder time.Duration
	// MaxSeries is the largest number of series; 0: 10 million.
	MaxSeries int
	// Memory is the budget in bytes for states and rows that are not in the database yet; 0: 4 GiB,
	// at least 1 MiB. Append waits while it is used up. What no checkpoint makes room for fails
	// with ErrMemory.
	Memory int64
	// ReadOnly opens the store for reading; other processes may read at the same time.
	ReadOnly bool // Append, Create, Drop and Rename then return ErrReadOnly
	// Logger takes what an operator can act on; nil: silent.
	Logger *slog.Logger
}

// A Store is an open folder. Its methods may be called from any goroutine.
type Store struct{ core *core.Store }

// Open opens the store in the folder dir, which is made if it does not exist. It returns when
// everything that was acknowledged is back. The error wraps ErrLocked if another process has the
// folder open, ErrInvalid if an option cannot be or dir is empty, and ErrDamaged if the database or
// its log cannot be read; it then names the command that mends it.
func Open(dir string, o Options) (*Store, error) {
	if o.Memory > 0 && o.Memory < minMemory {
		return nil, invalid("open %s: Options.Memory is %d: less than 1 MiB, %d bytes, has no room for a series", dir, o.Memory, minMemory)
	}
	s, err := core.Open(dir, core.Options{
		Sync: wal.Sync(o.Sync), SyncInterval: o.SyncInterval, Reorder: o.Reorder, MaxSeries: o.MaxSeries,
		Memory: o.Memory, ReadOnly: o.ReadOnly, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &Store{s}, nil
}

// minMemory is the least that Options.Memory may be, in bytes.
const minMemory = 1 << 20

// Close waits for calls under way and closes the store. Calls after it return ErrClosed. A loop
// over List or Select is a call under way: Close inside such a loop waits for ever, so leave the
// loop first.
func (s *Store) Close() error { return s.core.Close() }

// A Spec is what a series is made from.
type Spec struct {
	Path       string          // unique, with single slashes within: host/interface
	Labels     []Label         // Labels makes them of a map
	Definition *rra.Definition // of Define or Gauge, say
	// Start is when the series begins: samples at or before Start are refused as late. If Start is
	// zero, the first sample may have any time.
	Start time.Time
}

// Create makes a series and returns once it is durable. If a series of that path exists, Create
// returns the reference of that series and an error that wraps ErrExists.
func (s *Store) Create(ctx context.Context, spec Spec) (Ref, error) {
	if err := plain("create", spec.Path); err != nil {
		return 0, err
	}
	return s.core.Create(ctx, core.Spec{Path: spec.Path, Labels: spec.Labels, Definition: spec.Definition, Start: timeOf(spec.Start)})
}

// GetOrCreate returns the reference of the series of spec's path, and makes the series if it does
// not exist. An existing one stays as it is, also if spec has other labels or another definition:
// Info returns what it has.
func (s *Store) GetOrCreate(ctx context.Context, spec Spec) (Ref, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := plain("create", spec.Path); err != nil {
		return 0, err
	}
	ref, err := s.Lookup(spec.Path)
	if !errors.Is(err, ErrNotFound) {
		return ref, err
	}
	if ref, err = s.Create(ctx, spec); errors.Is(err, ErrExists) {
		err = nil
	}
	return ref, err
}

// plain refuses a new path that the store would change, as a//b, which it calls a/b.
func plain(verb, p string) error {
	if clean := path.Clean(strings.TrimLeft(p, "/")); p != "" && p != clean {
		return invalid("%s: the path %q has slashes or dots too many: want %q", verb, p, clean)
	}
	return nil
}

// Drop removes a series with its rows.
func (s *Store) Drop(ctx context.Context, path string) error { return core.Drop(ctx, s.core, path) }

// Rename gives a series another path. Its reference stays the same.
func (s *Store) Rename(ctx context.Context, from, to string) error {
	if err := plain("rename", to); err != nil {
		return err
	}
	return s.core.Rename(ctx, from, to)
}

// An Info is a series with the time of its last update.
type Info struct {
	Series
	// LastUpdate is the time of the newest sample, or Spec.Start before the first one. Without
	// either it is 1970, time.Unix(0, 0).
	LastUpdate time.Time
}

// Lookup returns the reference of the series of a path. It reads the database, so keep the
// reference. The error names the path; it wraps ErrNotFound if there is no such series.
func (s *Store) Lookup(path string) (Ref, error) {
	ref, err := s.core.Lookup(path)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", path, err)
	}
	return ref, nil
}

// Info returns the series of a path. The error is Lookup's.
func (s *Store) Info(ctx context.Context, path string) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	ref, err := s.Lookup(path)
	if err != nil {
		return Info{}, err
	}
	x, err := s.core.Series(ref)
	if err != nil {
		return Info{}, err
	}
	last, err := s.core.Last(ref)
	return Info{x, last.Std()}, err
}

// List yields the series whose path begins with prefix, in order of their paths. Do not call Close
// inside the loop: it waits for the loop to end.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Series, error] {
	return s.core.Select(ctx, core.Query{Prefix: prefix, Order: core.ByPath})
}

// Select yields the series that all matchers match, in an order of the store's own. The label index
// answers matchers that ask for one value; without such a matcher it looks at every series. An
// error comes with a zero Series, and ends the loop. Do not call Close inside the loop: it waits
// for the loop to end.
func (s *Store) Select(ctx context.Context, matchers ...Matcher) iter.Seq2[Series, error] {
	return s.core.Select(ctx, core.Query{Matchers: matchers, Order: core.ByRef})
}

// Backup writes the whole store to w as it is at one moment, while it stays in use. [Restore] reads
// it.
func (s *Store) Backup(ctx context.Context, w io.Writer) error { return s.core.Backup(ctx, w) }

// BackupSince writes what has changed since another backup, whose head [ReadBackupHead] reads. It
// restores only together with that backup and those which that builds on: see [RestoreFiles]. A nil
// head makes a backup of everything. The error wraps [ErrBase] if the other backup is of another
// store, or of this one before it was restored or repaired.
func (s *Store) BackupSince(ctx context.Context, w io.Writer, since *BackupHead) error {
	return s.core.BackupSince(ctx, w, since)
}

// A BackupHead names a backup, and says how far it reaches. It is a few bytes at the beginning of
// the backup, and can be kept elsewhere: AppendBinary and UnmarshalBinary code it.
type BackupHead = core.BackupHead

// ErrBase says that a backup does not build on the one that it was to build on.
var ErrBase = core.ErrBase

// ReadBackupHead reads the beginning of a backup.
func ReadBackupHead(r io.Reader) (*BackupHead, error) { return core.ReadBackupHead(r) }

// RestoreFiles makes the folder dir, which must not hold a store, from the files of a backup of
// everything and the files of what has changed, each since the one before it. The error wraps
// [ErrBase] if one is missing, not at its place or of another store; nothing is restored then.
func RestoreFiles(dir string, names ...string) error { return core.RestoreFiles(dir, names...) }

// Restore makes the folder dir, which must not hold a store, from what Backup wrote.
func Restore(dir string, r io.Reader) error { return core.Restore(r, dir) }

// Check reads everything there is and returns what it finds broken. The store stays in use.
func (s *Store) Check(ctx context.Context) ([]Problem, error) { return s.core.Check(ctx) }

// Stats returns the store's counters.
func (s *Store) Stats() Stats { return s.core.Stats() }

// timeOf is a time as the store has it; the zero time is 0.
func timeOf(t time.Time) rra.Time {
	if t.IsZero() {
		return 0
	}
	return rra.TimeOf(t)
}

// invalid returns an error of the caller's making, which is ErrInvalid.
func invalid(format string, args ...any) error { return &invalidError{fmt.Errorf(format, args...)} }

// An invalidError is ErrInvalid and reads as its cause does.
type invalidError struct{ error }

func (e *invalidError) Unwrap() error        { return e.error }
func (e *invalidError) Is(target error) bool { return target == ErrInvalid }
