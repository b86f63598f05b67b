package core_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
)

// TestLookupAll: many paths together lead where each of them does: to series in the database, to
// changes that are not there yet, and nowhere.
func TestLookupAll(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	defer func() { mustClose(t, s.Close()) }()
	d := gaugeDefinition(t)
	paths := []string{"", "..", "none", "/a0.rrd", "b1.rrd", "a2", "new", "a2"}
	for i := range 5 {
		mustCreate(t, s, fmt.Sprint("a", i), d)
		paths = append(paths, fmt.Sprint("a", i), fmt.Sprint("b", i))
	}
	same := func(when string) {
		t.Helper()
		var want []core.Ref
		for _, p := range paths {
			ref, err := s.Lookup(p)
			if err != nil && !errors.Is(err, core.ErrNotFound) {
				t.Fatal(err)
			}
			want = append(want, ref)
		}
		if got, err := s.LookupAll(paths); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; one by one %v", when, got, err, want)
		}
	}
	same("before a checkpoint")
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	same("after it")
	if err := errors.Join(s.Rename(t.Context(), "a1", "b1"), core.Drop(t.Context(), s, "a2")); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, s, "new", d)
	same("with changes")
	mustClose(t, s.Close())
	damageDB(t, dir, func(tx *bolt.Tx) error { return tx.Bucket([]byte("names")).Put([]byte("a3"), []byte("x")) })
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	if got, err := s.LookupAll(paths); got != nil || !errors.Is(err, core.ErrDamaged) {
		t.Errorf("a damaged name: %v, %v", got, err)
	}
}
