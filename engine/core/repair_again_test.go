package core_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// files are the names in a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	mustClose(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Each repair of a database whose log is damaged set one more copy of it aside, although it could
// change nothing: the log is for another command.
func TestRepairThatChangesNothingMadeCopies(t *testing.T) {
	l := newLostStore(t, false)
	mustClose(t, os.WriteFile(l.segments(t)[0], []byte("rondowal"), 0o600))
	before := files(t, l.dir)
	database, err := os.ReadFile(filepath.Join(l.dir, "rondo.bolt"))
	mustClose(t, err)
	for range 2 {
		got, err := core.Repair(context.Background(), l.dir, core.Options{})
		if err != nil || got.Aside != "" || len(got.Found) != 1 || len(got.Left) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		if after := files(t, l.dir); len(after) != len(before) {
			t.Errorf("files: %v, before %v", after, before)
		}
		if b, err := os.ReadFile(filepath.Join(l.dir, "rondo.bolt")); err != nil || string(b) != string(database) {
			t.Errorf("the database is another one: %v", err)
		}
	}
}
