// Package backups makes backups of a store at regular times into a folder, checks each, and removes
// old ones.
package backups

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
)

// A backup's name is prefix, its time in stamp's form, and a suffix: rondo-20261122T170831Z.zst.
// Names sort by time. Other files of the folder are left alone.
const (
	prefix = "rondo-"
	stamp  = "20060102T150405Z"
	suffix = ".zst"       // of a whole backup
	part   = ".since.zst" // of one that holds what has changed since the one before it
)

// retry is how long after a failure the next backup is made, if backups are not made more often
// anyway.
const retry = 10 * time.Minute

// A Source writes a backup. *core.Store is one.
type Source interface {
	// BackupSince writes what has changed since the backup with the head base, nil: everything.
	BackupSince(ctx context.Context, w io.Writer, base *core.BackupHead) error
}

// Options say where and how often backups are made.
type Options struct {
	Dir   string        // the folder; it is made if it is missing
	Every time.Duration // from one backup to the next, above 0
	// Whole is the time from one whole backup to the next. Those between them hold what has changed
	// since the one before. 0: all are whole.
	Whole time.Duration
	Keep  int // how many whole backups are kept, with those that build on them; 1 or more
}

// A Keeper makes backups of a source.
type Keeper struct {
	Options
	Source Source
	Logger *slog.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time

	mu    sync.Mutex // guards state
	state State
}

// A State is what a Keeper has done.
type State struct {
	Made, Failed uint64    // backups since the start
	Last         time.Time // when the newest backup that is whole began; zero: none is known
	Took         time.Duration
	Bytes        int64 // of that backup
	Err          error // why the last attempt failed; nil: it did not
}

// State returns what the keeper has done so far; a nil Keeper has done nothing.
func (k *Keeper) State() State {
	if k == nil {
		return State{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

func (k *Keeper) now() time.Time {
	if k.Now != nil {
		return k.Now()
	}
	return time.Now()
}

// Run makes backups until ctx ends. The first is made when the newest in the folder is as old as
// Every, at once if the folder has none. From then on it counts how much time passes, so that a
// clock that is set neither puts backups off nor makes more of them.
func (k *Keeper) Run(ctx context.Context) {
	wait := k.begin()
	for sleep.For(ctx, wait) == nil {
		began := time.Now()
		if k.Make(ctx) == nil {
			wait = k.Every - time.Since(began)
		} else {
			wait = min(k.Every, retry)
		}
	}
}

// begin looks at what the folder holds, and returns how long the next backup has to wait.
func (k *Keeper) begin() time.Duration {
	old, err := k.list()
	if err != nil || len(old) == 0 {
		return 0
	}
	last := timeOf(old[len(old)-1])
	k.mu.Lock()
	k.state.Last = last
	k.mu.Unlock()
	age := k.now().Sub(last)
	if age < 0 { // the clock was set back
		return 0
	}
	return k.Every - age
}

// Make makes one backup, reads it back to check it, and removes those that are too old. It returns
// and logs what went wrong. A backup that is not right does not stay, and does not make others go.
func (k *Keeper) Make(ctx context.Context) error {
	began := k.now()
	name, size, err := k.make(ctx, began)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	k.mu.Lock()
	k.state.Err = err
	if err == nil {
		k.state.Made++
		k.state.Last, k.state.Took, k.state.Bytes = began, k.now().Sub(began), size
	} else {
		k.state.Failed++
	}
	took := k.state.Took
	k.mu.Unlock()
	if err != nil {
		k.Logger.Error("no backup was made", "dir", k.Dir, "err", err)
		return err
	}
	k.Logger.Info("backup made", "file", name, "bytes", size, "took", took.Round(time.Millisecond))
	if err := k.prune(began); err != nil {
		k.Logger.Error("old backups not removed", "dir", k.Dir, "err", err)
	}
	return nil
}

// prune removes the oldest whole backups until Keep are left, and what builds on them. The newest
// backup was made at a time; backups with later names are older than all others, because the clock
// was set back since they were made.
func (k *Keeper) prune(newest time.Time) error {
	all, err := k.list()
	if err != nil {
		return err
	}
	later := slices.IndexFunc(all, func(name string) bool { return timeOf(name).After(newest) })
	if later >= 0 {
		all = slices.Concat(all[later:], all[:later])
	}
	first := len(all) // the first that stays
	for whole := 0; first > 0 && whole < max(k.Keep, 1); {
		if first--; isWhole(all[first]) {
			whole++
		}
	}
	var errs []error
	for _, name := range all[:first] {
		errs = append(errs, os.Remove(filepath.Join(k.Dir, name)))
	}
	return errors.Join(errs...)
}

// list returns the names of the backups in the folder, oldest first.
func (k *Keeper) list() ([]string, error) {
	entries, err := os.ReadDir(k.Dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !timeOf(e.Name()).IsZero() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// timeOf returns the time in the name of a backup, or the zero time if it is not the name of one.
func timeOf(name string) time.Time {
	text, ok := strings.CutPrefix(name, prefix)
	text, end := strings.CutSuffix(text, suffix)
	text = strings.TrimSuffix(text, strings.TrimSuffix(part, suffix))
	if !ok || !end {
		return time.Time{}
	}
	t, err := time.Parse(stamp, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
