package core_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// smallDatabase makes a store with rows in several slots, names and labels, and returns its
// database's bytes.
func smallDatabase(t *testing.T, dir string) []byte {
	t.Helper()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 40)
	for range 12 {
		f.mustFeed(40)
		if err := s.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return readDatabase(t, dir)
}

// TestFileCutWhileItRuns takes the file away under an open store: what needs it fails, and the
// process lives.
func TestFileCutWhileItRuns(t *testing.T) {
	for _, size := range []int64{0, 4096, 3 * 4096} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			dir := t.TempDir()
			smallDatabase(t, dir)
			s := mustOpen(t, dir, core.Options{NoBackground: true})
			ref, err := s.Lookup("host/0")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(filepath.Join(dir, "rondo.bolt"), size); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Fetch(t.Context(), ref, 0, programStart, programStart+4000); !errors.Is(err, core.ErrDamaged) {
				t.Errorf("fetch from a file that was cut: %v", err)
			}
			for _, err := range s.Select(t.Context(), core.Query{Order: core.ByPath}) {
				if !errors.Is(err, core.ErrDamaged) {
					t.Errorf("list of a file that was cut: %v", err)
				}
			}
			_ = s.Close()
			if _, err := core.Open(dir, core.Options{}); !errors.Is(err, core.ErrDamaged) {
				t.Errorf("open of a file that was cut: %v", err)
			}
		})
	}
}

// TestCutFileIsRefused cuts pages off the end of the file of a closed store.
func TestCutFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	good := smallDatabase(t, dir)
	used := int(binary.LittleEndian.Uint64(good[16+40:])) // of one meta page; the other is one transaction away
	for _, size := range []int{1, 100, 4096, 2 * 4096, (used - 8) * 4096} {
		if err := os.WriteFile(filepath.Join(dir, "rondo.bolt"), good[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := core.Open(dir, core.Options{})
		if err == nil {
			_ = s.Close()
		}
		if !errors.Is(err, core.ErrDamaged) {
			t.Errorf("open of a database cut to %d bytes: %v", size, err)
		}
	}
}

// TestHalfMadeDatabase is what loss of power leaves while a database is made: half of a file that
// has no name yet. An empty file under the name is one that was cut, and not made anew.
func TestHalfMadeDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rondo.bolt.new"), make([]byte, 9000), 0o600); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, dir, core.Options{}).Close())
	if err := os.Truncate(filepath.Join(dir, "rondo.bolt"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Open(dir, core.Options{}); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("open of an empty file: %v", err)
	}
}

// TestCutFileIsNotWritten has new samples in the log of a store whose file was cut: no checkpoint
// makes the file long again, and the log keeps them.
func TestCutFileIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	good := smallDatabase(t, dir)
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	ref, err := s.Lookup("host/0")
	if err != nil {
		t.Fatal(err)
	}
	last, err := s.Last(ref)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "rondo.bolt")
	if err := os.Truncate(name, 5*4096); err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	b.Add(ref, last+rra.Seconds(10), rra.Float(1))
	if err := s.Append(t.Context(), &b); err != nil {
		t.Errorf("append: %v", err)
	}
	if err := s.Checkpoint(t.Context()); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("checkpoint into a file that was cut: %v", err)
	}
	_ = s.Close() // says the same
	if st, err := os.Stat(name); err != nil || st.Size() != 5*4096 {
		t.Errorf("the file has %d bytes: %v", st.Size(), err)
	}
	if err := os.WriteFile(name, good, 0o600); err != nil { // as it was
		t.Fatal(err)
	}
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	if at, err := s.Last(ref); err != nil || at != last+rra.Seconds(10) {
		t.Errorf("last is %d, %v", at.Unix(), err)
	}
	mustClose(t, s.Close())
}

// TestFreePagesAreKnownAtOpen closes a store whose database has free pages: it used to have none
// until the next checkpoint.
func TestFreePagesAreKnownAtOpen(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 40)
	for range 5 {
		f.mustFeed(40)
		mustClose(t, s.Checkpoint(t.Context()))
	}
	before := s.Stats()
	mustClose(t, s.Close())
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	after := s.Stats()
	if before.DatabaseFree == 0 || after.DatabaseFree != before.DatabaseFree {
		t.Errorf("%d bytes are free after Open, %d before Close", after.DatabaseFree, before.DatabaseFree)
	}
	if before.DatabaseBytes == 0 || after.DatabaseBytes != before.DatabaseBytes {
		t.Errorf("%d bytes after Open, %d before Close", after.DatabaseBytes, before.DatabaseBytes)
	}
	mustClose(t, s.Close())
}
