package core_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// A store whose log's files are removed while it is open went on acknowledging into files that go
// with the process.
func TestLogGoneWhileOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 20)
	f.mustFeed(3)
	aside := filepath.Join(t.TempDir(), "wal")
	mustClose(t, os.Rename(filepath.Join(dir, "wal"), aside))
	if err := s.Checkpoint(t.Context()); !errors.Is(err, wal.ErrGone) {
		t.Errorf("checkpoint: %v, want ErrGone", err)
	}
	if err := f.feed(1); !errors.Is(err, wal.ErrGone) {
		t.Errorf("append: %v, want ErrGone", err)
	}
	s.AwaitTold()
	mustClose(t, os.Rename(aside, filepath.Join(dir, "wal")))
	mustClose(t, s.Checkpoint(t.Context()))
	f.mustFeed(3)
	f.verify()
	mustClose(t, s.Abandon())
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	f.reopened(s).verify()
	mustClose(t, s.Close())
}
