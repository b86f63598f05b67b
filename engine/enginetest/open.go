package enginetest

import (
	"context"
	"errors"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/ramtemp"
)

var _ = ramtemp.Use() // before any test has a temporary folder

// Open opens a new store in a temporary folder. When the test is over the store
// is checked and closed: every test is an integrity test.
func Open(t testing.TB) *core.Store {
	t.Helper()
	return OpenDir(t, t.TempDir(), core.Options{})
}

// OpenDir is Open for a folder and options of the caller's choice. A test that
// closes the store itself, to open it again, loses the check of that store and no other.
func OpenDir(t testing.TB, dir string, o core.Options) *core.Store {
	t.Helper()
	s, err := core.Open(dir, o)
	if err != nil {
		t.Fatalf("open a store: %v", err)
	}
	t.Cleanup(func() { checkAndClose(t, s) })
	return s
}

// Check fails the test for everything that is found broken in s.
func Check(t testing.TB, s *core.Store) {
	t.Helper()
	problems, err := s.Check(t.Context())
	report(t, problems, err)
}

func report(t testing.TB, problems []core.Problem, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("check the store: %v", err)
	}
	for _, p := range problems {
		t.Errorf("check the store: %s: %s", p.Where, p.What)
	}
}

func checkAndClose(t testing.TB, s *core.Store) {
	t.Helper()
	problems, err := s.Check(context.Background()) // the test's own context is done in a cleanup
	if errors.Is(err, core.ErrClosed) {
		return // the test closed it
	}
	report(t, problems, err)
	if err := s.Close(); err != nil {
		t.Errorf("close the store: %v", err)
	}
}
