//go:build faults

package core_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
)

// failing calls work with each call of a kind on a database's file failing in turn, once and for
// good, until all of them were: the n-th write, sync, truncation or opening of a target that is
// being made.
func failing(t *testing.T, work func(t *testing.T, what string)) (tried int) {
	t.Cleanup(func() { bolt.Fault = nil })
	for _, kind := range []string{"write", "sync", "truncate", "mmap", "open"} {
		for _, forever := range []bool{false, true} {
			for n := 1; !t.Failed(); n++ {
				calls := 0
				bolt.Fault = func(op string, _ *os.File, _ int64, _ []byte) error {
					if op != kind {
						return nil
					}
					if calls++; calls == n || forever && calls > n {
						return syscall.EIO
					}
					return nil
				}
				what := kind
				if forever {
					what += " for good"
				}
				work(t, what)
				bolt.Fault = nil
				if calls < n {
					break
				}
				tried++
			}
		}
	}
	return tried
}

// A repair whose disk fails leaves the database as it was, or mended, and can be tried again.
func TestDiskFaultsOfRepair(t *testing.T) {
	whole := zoo(t)
	want := answersOf(t, whole)
	hurt := copyStore(t, whole)
	damageDB(t, hurt, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("state"))
		for _, k := range keysOf(b)[:2] {
			if err := b.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
	mended := copyStore(t, hurt)
	got, err := core.Repair(context.Background(), mended, core.Options{Reorder: 25e9})
	mustClose(t, err)
	after := answersOf(t, mended)
	if name := unnamed(want, after, got.Lost); name != "" {
		t.Error(name)
	}
	failed := 0
	tried := failing(t, func(t *testing.T, what string) {
		dir := copyStore(t, hurt)
		defer func() { _ = os.RemoveAll(dir) }() // a folder that stays is the system's to clean
		_, err := core.Repair(context.Background(), dir, core.Options{Reorder: 25e9})
		if err != nil {
			failed++
		}
		bolt.Fault = nil
		if s, err := core.Open(dir, core.Options{ReadOnly: true, Reorder: 25e9}); err == nil {
			if diff := ask(s, programStart+4800).differs(after); diff != "" && ask(s, programStart+4800).differs(want) != "" {
				t.Errorf("%s: after the failure: %s", what, diff)
			}
			mustClose(t, s.Close())
		} else if !errors.Is(err, core.ErrRestoring) {
			t.Errorf("%s: after the failure: %v", what, err)
		}
		if _, err := core.Repair(context.Background(), dir, core.Options{Reorder: 25e9}); err != nil {
			t.Errorf("%s: tried again: %v", what, err)
		}
		if got := answersOf(t, dir); !maps.Equal(got, after) {
			t.Errorf("%s: tried again: %s", what, got.differs(after))
		}
	})
	t.Logf("%d calls failed, %d repairs with them", tried, failed)
	if tried < 10 || failed == 0 {
		t.Error("nothing was tried")
	}
}

// A restore whose disk fails leaves no database that could be taken for a whole one, and can be
// tried again.
func TestDiskFaultsOfRestore(t *testing.T) {
	from := zoo(t)
	s := mustOpen(t, from, core.Options{NoBackground: true, Reorder: 25e9})
	var backup bytes.Buffer
	mustClose(t, s.Backup(context.Background(), &backup))
	want := ask(s, programStart+4800)
	mustClose(t, s.Close())
	restoresThatFail(t, want, func(dir string) error { return core.Restore(bytes.NewReader(backup.Bytes()), dir) })
}

// restoresThatFail lets each call of a restore fail in turn. Then no folder is there, and restoring
// again gives a database that answers want.
func restoresThatFail(t *testing.T, want answers, restore func(dir string) error) {
	t.Helper()
	failed := 0
	tried := failing(t, func(t *testing.T, what string) {
		dir := filepath.Join(t.TempDir(), "to")
		err := restore(dir)
		bolt.Fault = nil
		if err != nil {
			failed++
			if _, e := os.Stat(dir); !errors.Is(e, os.ErrNotExist) {
				t.Errorf("%s: %v, and the folder is there: %v", what, err, e)
			}
			if err := restore(dir); err != nil {
				t.Errorf("%s: tried again: %v", what, err)
				return
			}
		}
		if got := answersOf(t, dir); !maps.Equal(got, want) {
			t.Errorf("%s: %s", what, got.differs(want))
		}
		_ = os.RemoveAll(dir) // a folder that stays is the system's to clean
	})
	t.Logf("%d calls failed, %d restores with them", tried, failed)
	if tried < 10 || failed == 0 {
		t.Error("nothing was tried")
	}
}

// chainOfZoo returns a backup of everything and one of what changed since, and what is then in the
// store.
func chainOfZoo(t *testing.T) (chain [][]byte, want answers) {
	t.Helper()
	s := mustOpen(t, zoo(t), core.Options{NoBackground: true, Reorder: 25e9})
	full := mustBackup(t, s)
	goOn(t, s)
	chain = [][]byte{full, since(t, s, full)}
	want = ask(s, programStart+4800)
	mustClose(t, s.Close())
	return chain, want
}

// A restore of increments whose disk fails leaves no database that could be taken for a whole one,
// and can be tried again.
func TestDiskFaultsOfIncrements(t *testing.T) {
	chain, want := chainOfZoo(t)
	names := backupFiles(t, chain...)
	restoresThatFail(t, want, func(dir string) error { return core.RestoreFiles(dir, names...) })
}
