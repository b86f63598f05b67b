package core_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// halfEmpty makes a store most of whose series were dropped, and returns its feeder.
func halfEmpty(t *testing.T, dir string, o core.Options) *feeder {
	t.Helper()
	s := mustOpen(t, dir, o)
	f := newFeeder(t, s, 600)
	f.mustFeed(400)
	mustClose(t, s.Checkpoint(t.Context()))
	for i := 256; i < 600; i++ {
		mustClose(t, core.Drop(t.Context(), s, fmt.Sprintf("host/%d", i)))
	}
	f.refs = f.refs[:256]
	f.mustFeed(10)
	mustClose(t, s.Checkpoint(t.Context()))
	return f
}

func fileSize(t *testing.T, name string) int64 {
	t.Helper()
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// noCopyLeft fails if a half-made copy lies in the folder.
func noCopyLeft(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(dir, "rondo.bolt.compacting")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy was left: %v", err)
	}
}

// loadMore does ops operations of each appender; all succeed.
func (c *crashRun) loadMore(s *core.Store, ops int) {
	c.t.Helper()
	c.load(s, 0, ops, func(err error) bool { c.t.Error(err); return false })
	for _, a := range c.apps {
		for a.n < a.acked {
			a.do()
		}
	}
}

// compacted compacts the database in dir, and fails if a copy is left.
func compacted(t *testing.T, dir string) core.Compacted {
	t.Helper()
	got, err := core.Compact(t.Context(), dir, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	noCopyLeft(t, dir)
	return got
}

// TestCompactGivesSpaceBack: the database file never became smaller.
func TestCompactGivesSpaceBack(t *testing.T) {
	dir := t.TempDir()
	f := halfEmpty(t, dir, core.Options{NoBackground: true})
	before := mustDigest(t, f.s)
	mustClose(t, f.s.Close())
	got := compacted(t, dir)
	if got.After > got.Before*2/3 || got.Took <= 0 {
		t.Errorf("%+v", got)
	}
	if size := fileSize(t, filepath.Join(dir, "rondo.bolt")); size != got.After {
		t.Errorf("the file has %d bytes, %+v", size, got)
	}
	f.s = mustOpen(t, dir, core.Options{NoBackground: true})
	if st := f.s.Stats(); st.DatabaseBytes != got.After || st.DatabaseFree > st.DatabaseBytes/10 {
		t.Errorf("%d bytes, %d of them free; %+v", st.DatabaseBytes, st.DatabaseFree, got)
	}
	sameDigest(t, "compacted", mustDigest(t, f.s), before)
	f.mustFeed(60)
	mustClose(t, f.s.Checkpoint(t.Context()))
	f.verify()
	mustClose(t, f.s.Abandon())
	if again := compacted(t, dir); again.After > again.Before {
		t.Errorf("%+v", again)
	}
	f.s = mustOpen(t, dir, core.Options{NoBackground: true})
	f.verify()
	mustClose(t, f.s.Close())
}

// TestCompactAtStart: a server gives space back when it starts, a command does not.
func TestCompactAtStart(t *testing.T) {
	dir := t.TempDir()
	f := halfEmpty(t, dir, core.Options{NoBackground: true})
	for i := 8; i < 256; i++ {
		mustClose(t, core.Drop(t.Context(), f.s, fmt.Sprintf("host/%d", i)))
	}
	f.refs = f.refs[:8]
	f.mustFeed(400) // slots that are merged anew lose what was dropped
	mustClose(t, f.s.Checkpoint(t.Context()))
	if st := f.s.Stats(); st.DatabaseFree <= st.DatabaseBytes/2 {
		t.Fatalf("%d of %d bytes are free", st.DatabaseFree, st.DatabaseBytes)
	}
	mustClose(t, f.s.Close())
	name := filepath.Join(dir, "rondo.bolt")
	before := fileSize(t, name)
	for _, o := range []core.Options{{NoBackground: true}, {ReadOnly: true}, {}} {
		o = o.WithCompactFrom(1)
		f.s = mustOpen(t, dir, o)
		f.verify()
		mustClose(t, f.s.Close())
		if size := fileSize(t, name); (size < before) != (!o.NoBackground && !o.ReadOnly) {
			t.Errorf("%d bytes, before %d", size, before)
		}
	}
	noCopyLeft(t, dir)
}

// TestCompactKeepsEverything compacts a store with all kinds of values, and one that holds nothing.
func TestCompactKeepsEverything(t *testing.T) {
	empty := t.TempDir()
	mustClose(t, mustOpen(t, empty, core.Options{}).Close())
	for name, dir := range map[string]string{"zoo": zoo(t), "empty": empty} {
		t.Run(name, func(t *testing.T) {
			want := answersOf(t, dir)
			compacted(t, dir)
			if got := answersOf(t, dir); !maps.Equal(got, want) {
				t.Error(got.differs(want))
			}
		})
	}
}

// TestCompactRefused: what cannot be done is refused with a reason, and changes nothing.
func TestCompactRefused(t *testing.T) {
	dir := t.TempDir()
	f := halfEmpty(t, dir, core.Options{NoBackground: true})
	if _, err := core.Compact(t.Context(), dir, core.Options{}); !errors.Is(err, core.ErrLocked) {
		t.Errorf("of a store in use: %v", err)
	}
	mustClose(t, f.s.Close())
	before := folderDigest(t, dir)
	for name, x := range map[string]struct {
		room int64 // bytes that are free; below 0: it is not known
		want error
	}{
		"no room":           {64 << 20, core.ErrNoRoom},
		"room is not known": {-1, syscall.EIO},
	} {
		o := core.Options{}.WithRoom(func() (int64, error) {
			if x.room < 0 {
				return 0, syscall.EIO
			}
			return x.room, nil
		})
		if _, err := core.Compact(t.Context(), dir, o); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := core.Compact(done, dir, core.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	noCopyLeft(t, dir)
	if after := folderDigest(t, dir); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("it changed the folder:\n%v, was\n%v", after, before)
	}
}

// TestCompactFails has each step of a compaction fail, once. The database is as it was, and the
// next compaction succeeds.
func TestCompactFails(t *testing.T) {
	dir := t.TempDir()
	f := halfEmpty(t, dir, core.Options{NoBackground: true})
	before := mustDigest(t, f.s)
	mustClose(t, f.s.Close())
	failed := map[string]int{}
	for n := 1; !t.Failed(); n++ {
		calls, what := 0, ""
		o := core.Options{}.WithFault(func(op string, _ *os.File, _ int64, _ []byte) error {
			if calls++; calls == n {
				what = op
				return syscall.EIO
			}
			return nil
		})
		_, err := core.Compact(t.Context(), dir, o)
		if calls < n {
			mustClose(t, err)
			break
		}
		failed[what]++
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("call %d, %s: %v", n, what, err)
		}
		noCopyLeft(t, dir)
		s := mustOpen(t, dir, core.Options{NoBackground: true})
		sameDigest(t, what, mustDigest(t, s), before)
		mustClose(t, s.Abandon())
	}
	for _, op := range []string{"open", "read", "truncate", "sync", "rename", "folder"} {
		if failed[op] == 0 {
			t.Errorf("no %s failed: %v", op, failed)
		}
	}
}

// TestHalfCompactedCopyIsRemoved: a killed compaction leaves a file that nobody uses.
func TestHalfCompactedCopyIsRemoved(t *testing.T) {
	dir := zoo(t)
	if err := os.WriteFile(filepath.Join(dir, "rondo.bolt.compacting"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, dir, core.Options{NoBackground: true, Reorder: 25e9})
	noCopyLeft(t, dir)
	mustClose(t, s.Close())
}
