package core_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestCloseOnFullDisk ends a store, as a command of its own does, when the log has room and the
// database has none: what was logged is kept, and nothing has failed.
func TestCloseOnFullDisk(t *testing.T) {
	for _, background := range []bool{false, true} {
		dir := t.TempDir()
		s := mustOpen(t, dir, core.Options{NoBackground: !background})
		f := newFeeder(t, s, 300)
		f.mustFeed(30)
		if err := s.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.mustFeed(700) // more than Close leaves in the log
		full := 0
		s.SetFault(func(op string) error {
			if op == "commit" {
				full++
				return syscall.ENOSPC
			}
			return nil
		})
		if err := s.Close(); err != nil {
			t.Errorf("close on a full disk: %v", err)
		}
		if full == 0 {
			t.Error("nothing was to be written at the end")
		}
		s = mustOpen(t, dir, core.Options{NoBackground: true})
		f.reopened(s).verify()
		mustClose(t, s.Close())
	}
}

// TestBackupOnFullDisk makes a backup while no checkpoint can be written: what the database has,
// and the log.
func TestBackupOnFullDisk(t *testing.T) {
	s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	f := newFeeder(t, s, 30)
	f.mustFeed(50)
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mustFeed(50)
	s.SetFault(func(op string) error {
		if strings.HasPrefix(op, "commit") {
			return syscall.ENOSPC
		}
		return nil
	})
	whole := mustBackup(t, s)
	s.SetFault(nil)
	want := mustDigest(t, s)
	mustClose(t, s.Close())
	dir := t.TempDir()
	if err := core.Restore(bytes.NewReader(whole), dir); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, dir, core.Options{NoBackground: true})
	sameDigest(t, "restored", mustDigest(t, r), want)
	mustClose(t, r.Close())
}
