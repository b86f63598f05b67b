package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/internal/replace"
)

// make writes a backup that began at a time, and returns its name and its size in bytes. If one of
// what has changed cannot be made, or cannot be restored with those that it builds on, make writes
// a whole one.
func (k *Keeper) make(ctx context.Context, at time.Time) (string, int64, error) {
	if err := owner.MkdirAll(k.Dir, 0o700); err != nil {
		return "", 0, err
	}
	for _, end := range []string{suffix, part} {
		if name := k.path(at, end); exists(name) {
			return "", 0, fmt.Errorf("%s exists", name) // two in a second
		}
	}
	if chain := k.chain(at); len(chain) > 0 {
		name, size, err := k.write(ctx, at, chain)
		if err == nil || ctx.Err() != nil {
			return name, size, err
		}
		k.Logger.Warn("a whole backup is made, not one of what has changed", "err", err)
	}
	return k.write(ctx, at, nil)
}

func (k *Keeper) path(at time.Time, end string) string {
	return filepath.Join(k.Dir, prefix+at.UTC().Format(stamp)+end)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// isWhole says whether a name belongs to a whole backup.
func isWhole(name string) bool { return !strings.HasSuffix(name, part) }

// chain returns the newest whole backup and those that build on it, for one more to build on them.
// It returns none if a whole backup is due at a time, or if the clock was set back.
func (k *Keeper) chain(at time.Time) []string {
	all, err := k.list()
	if err != nil || k.Whole <= 0 {
		return nil
	}
	first := len(all) - 1
	for first >= 0 && !isWhole(all[first]) {
		first--
	}
	if first < 0 || at.Sub(timeOf(all[first])) >= k.Whole || timeOf(all[len(all)-1]).After(at) {
		return nil
	}
	var chain []string
	for _, name := range all[first:] {
		chain = append(chain, filepath.Join(k.Dir, name))
	}
	return chain
}

// write writes a backup of what has changed since the last of a chain, or a whole one if there is
// none, reads it back with those that it builds on, and returns its name and its size in bytes.
func (k *Keeper) write(ctx context.Context, at time.Time, chain []string) (name string, size int64, err error) {
	name = k.path(at, suffix)
	var base *core.BackupHead
	if len(chain) > 0 {
		name = k.path(at, part)
		if base, err = Head(chain[len(chain)-1]); err != nil {
			return "", 0, err
		}
	}
	if err := replace.File(name, func(w io.Writer) error { return k.Source.BackupSince(ctx, w, base) }); err != nil {
		return "", 0, err
	}
	info, err := os.Stat(name)
	if err == nil {
		_, err = core.VerifyBackups(ctx, append(slices.Clip(chain), name)...)
	}
	if err != nil {
		return "", 0, errors.Join(err, os.Remove(name)) // err names the file
	}
	return name, info.Size(), nil
}

// Head reads the head of the backup in the file name. The error names the file.
func Head(name string) (*core.BackupHead, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	head, err := core.ReadBackupHead(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return head, nil
}
