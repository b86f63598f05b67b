package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seeds"
)

// halfEmpty makes a store most of whose series were dropped, and returns its feeder.
func halfEmpty(t *testing.T, dir string, o core.Options) *feeder {
	t.Helper()
	s := mustOpen(t, dir, o)
	f := newFeeder(t, s, 600)
	f.mustFeed(400)
	mustClose(t, s.Checkpoint(t.Context()))
	for i := 256; i < 600; i++ {
		mustClose(t, s.Drop(t.Context(), fmt.Sprintf("host/%d", i)))
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

// TestCompactGivesSpaceBack: the database file never became smaller.
func TestCompactGivesSpaceBack(t *testing.T) {
	dir := t.TempDir()
	f := halfEmpty(t, dir, core.Options{NoBackground: true})
	s := f.s
	before := mustDigest(t, s)
	got, err := s.Compact(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.After > got.Before*2/3 || got.Took <= 0 {
		t.Errorf("%+v", got)
	}
	if size := fileSize(t, filepath.Join(dir, "rondo.bolt")); size != got.After {
		t.Errorf("the file has %d bytes, %+v", size, got)
	}
	if st := s.Stats(); st.DatabaseBytes != got.After || st.DatabaseFree > st.DatabaseBytes/10 {
		t.Errorf("%d bytes, %d of them free; %+v", st.DatabaseBytes, st.DatabaseFree, got)
	}
	noCopyLeft(t, dir)
	sameDigest(t, "compacted", mustDigest(t, s), before)
	f.mustFeed(60)
	mustClose(t, s.Checkpoint(t.Context()))
	f.verify()
	before = mustDigest(t, s)
	mustClose(t, s.Abandon())
	f.s = mustOpen(t, dir, core.Options{NoBackground: true})
	sameDigest(t, "reopened", mustDigest(t, f.s), before)
	if again, err := f.s.Compact(t.Context()); err != nil || again.After > again.Before {
		t.Errorf("%+v, %v", again, err)
	}
	f.verify()
	mustClose(t, f.s.Close())
}

// TestCompactKeepsEverything compacts a store with all kinds of values, and one that holds nothing.
func TestCompactKeepsEverything(t *testing.T) {
	empty := t.TempDir()
	mustClose(t, mustOpen(t, empty, core.Options{}).Close())
	for name, dir := range map[string]string{"zoo": zoo(t), "empty": empty} {
		t.Run(name, func(t *testing.T) {
			want := answersOf(t, dir)
			s := mustOpen(t, dir, core.Options{NoBackground: true, Reorder: 25e9}.WithSlice(1000))
			if _, err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := ask(s, programStart+4800); !maps.Equal(got, want) {
				t.Error(got.differs(want))
			}
			mustClose(t, s.Abandon())
			if got := answersOf(t, dir); !maps.Equal(got, want) {
				t.Error(got.differs(want))
			}
		})
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

// TestCompactWhileOthersWrite changes everything between the slices and rounds of a compaction:
// what was copied before must be brought to the copy.
func TestCompactWhileOthersWrite(t *testing.T) {
	seed := seeds.One(t)
	c := newCrashRun(t, seed)
	var s *core.Store
	hooked := atomic.Bool{}
	steps, most := 0, seeds.Often(16, 40)
	o := core.Options{NoBackground: true}.WithSlice(8 << 10).WithHook(func(name string) {
		if name != "compact-slice" && name != "compact-round" || !hooked.CompareAndSwap(false, true) {
			return
		}
		defer hooked.Store(false)
		if steps++; steps > most || name == "compact-slice" && steps%3 != 0 {
			return
		}
		c.loadMore(s, 2)
		if err := s.Checkpoint(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s = mustOpen(t, c.task.dir, o)
	c.loadMore(s, 40)
	mustClose(t, s.Checkpoint(t.Context()))
	for range seeds.Often(2, 3) {
		steps = 0
		if _, err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.compare(s)
		c.loadMore(s, 3)
		mustClose(t, s.Checkpoint(t.Context()))
	}
	c.compare(s)
	mustClose(t, s.Abandon())
	c.verify()
}

// TestCompactUnderLoad compacts again and again while samples come in, checkpoints are written and
// rows are fetched.
func TestCompactUnderLoad(t *testing.T) {
	c := newCrashRun(t, seeds.One(t))
	s := mustOpen(t, c.task.dir, core.Options{CheckpointBytes: 16 << 10}.WithSlice(8<<10))
	var others sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	others.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Compact(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	others.Go(func() {
		for ctx.Err() == nil {
			var backup bytes.Buffer
			if err := s.Backup(ctx, &backup); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	c.load(s, 3, 40, func(err error) bool { t.Error(err); return false })
	stop()
	others.Wait()
	noCopyLeft(t, c.task.dir)
	c.compare(s)
	mustClose(t, s.Abandon())
	c.verify()
}

// TestCompactLeavesReadersTheOldFile: a reader that began before the switch reads on.
func TestCompactLeavesReadersTheOldFile(t *testing.T) {
	dir := t.TempDir()
	f := halfEmpty(t, dir, core.Options{NoBackground: true})
	tx, err := f.s.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	id := tx.ID()
	done := make(chan error, 1)
	go func() {
		_, err := f.s.Compact(context.Background())
		done <- err
	}()
	// The new file is in use when a new transaction is no longer counted with the old one.
	for f.s.Readers() > 0 {
		f.verify()
	}
	f.mustFeed(50)
	mustClose(t, f.s.Checkpoint(t.Context()))
	n := 0
	c := tx.Bucket([]byte("state")).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		n++
	}
	if n == 0 {
		t.Error("the old transaction sees nothing")
	}
	fresh, err := f.s.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	if fresh.ID() <= id {
		t.Errorf("transaction %d behind %d", fresh.ID(), id)
	}
	fresh.End()
	tx.End()
	mustClose(t, <-done)
	f.verify()
	mustClose(t, f.s.Close())
}

// A refusal is a compaction that cannot be done.
type refusal struct {
	room int64               // bytes that are free; below 0: it is not known
	then func(s *core.Store) // called between two slices
	want error               // what the compaction says
}

// TestCompactRefused: what cannot be done is refused with a reason, and changes nothing.
func TestCompactRefused(t *testing.T) {
	dir := t.TempDir()
	const plenty = 1 << 40
	var room atomic.Int64
	var then func(s *core.Store)
	var s *core.Store
	o := core.Options{NoBackground: true}.WithSlice(16 << 10).WithRoom(func() (int64, error) {
		if room.Load() < 0 {
			return 0, syscall.EIO
		}
		return room.Load(), nil
	}).WithHook(func(name string) {
		if do := then; name == "compact-slice" && do != nil {
			then = nil
			do(s)
		}
	})
	room.Store(plenty)
	f := halfEmpty(t, dir, o)
	s = f.s
	ctx, cancel := context.WithCancel(t.Context())
	var second error
	var wg sync.WaitGroup
	for name, x := range map[string]refusal{
		"no room":            {room: 64 << 20, want: core.ErrNoRoom},
		"room is not known":  {room: -1, want: syscall.EIO},
		"the disk fills up":  {room: plenty, then: func(*core.Store) { room.Store(20 << 20) }, want: core.ErrNoRoom},
		"another compaction": {room: plenty, then: func(s *core.Store) { _, second = s.Compact(t.Context()) }},
		"cancelled":          {room: plenty, then: func(*core.Store) { cancel() }, want: context.Canceled},
		"a commit fails": {room: plenty, want: syscall.EIO, then: func(s *core.Store) {
			failed, opens := false, make(chan bool)
			var once sync.Once
			s.SetFault(func(op string) error {
				switch {
				case op == "committed" && !failed:
					failed = true
					return syscall.EIO
				case op == "reopen":
					once.Do(func() { close(opens) })
				}
				return nil
			})
			f.mustFeed(3)
			wg.Go(func() { // it waits for the compaction's reader
				if err := s.Checkpoint(t.Context()); err != nil {
					t.Error(err)
				}
			})
			select {
			case <-opens:
			case <-time.After(time.Minute):
				t.Error("the database is not opened again after a commit that failed")
			}
		}},
	} {
		room.Store(x.room)
		then = x.then
		use := t.Context()
		if name == "cancelled" {
			use = ctx
		}
		if _, err := s.Compact(use); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
		wg.Wait()
		noCopyLeft(t, dir)
		f.verify()
	}
	if !errors.Is(second, core.ErrCompacting) {
		t.Errorf("a second compaction: %v", second)
	}
	mustClose(t, s.Close())
	ro := mustOpen(t, dir, core.Options{ReadOnly: true})
	if _, err := ro.Compact(t.Context()); !errors.Is(err, core.ErrReadOnly) {
		t.Error(err)
	}
	mustClose(t, ro.Close())
}

// TestCompactFails has each step of a compaction fail, once. The database goes on, and the next
// compaction succeeds.
func TestCompactFails(t *testing.T) {
	dir := t.TempDir()
	o := core.Options{NoBackground: true}.WithSlice(64 << 10)
	f := halfEmpty(t, dir, o)
	failed := map[string]int{}
	for n := 1; !t.Failed(); n++ {
		calls, what := 0, ""
		f.s.SetFault(func(op string) error {
			if calls++; calls == n {
				what = op
				return syscall.EIO
			}
			return nil
		})
		_, err := f.s.Compact(t.Context())
		f.s.SetFault(nil)
		if calls < n {
			if err != nil {
				t.Error(err)
			}
			break
		}
		failed[what]++
		switch {
		case what == "folder": // told to the log; writing waits for it
			if err != nil {
				t.Errorf("call %d, %s: %v", n, what, err)
			}
		case what == "committed" || what == "commit":
		case !errors.Is(err, syscall.EIO):
			t.Errorf("call %d, %s: %v", n, what, err)
		}
		noCopyLeft(t, dir)
		f.mustFeed(3)
		mustClose(t, f.s.Checkpoint(t.Context()))
		f.verify()
		if n%5 == 0 {
			mustClose(t, f.s.Abandon())
			f.s = mustOpen(t, dir, o)
			f.verify()
		}
	}
	for _, op := range []string{"open", "read", "commit", "committed", "truncate", "sync", "rename", "folder"} {
		if failed[op] == 0 {
			t.Errorf("no %s failed: %v", op, failed)
		}
	}
	mustClose(t, f.s.Close())
}

// TestCompactedNameIsNotWrittenBeforeItIsDurable: after a loss of power the folder might show the
// old file, and the log would lack what only the new one holds.
func TestCompactedNameIsNotWrittenBeforeItIsDurable(t *testing.T) {
	dir := t.TempDir()
	f := halfEmpty(t, dir, core.Options{NoBackground: true})
	fault := func(op string) error {
		if op == "folder" {
			return syscall.EIO
		}
		return nil
	}
	f.s.SetFault(fault)
	if _, err := f.s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mustFeed(20)
	if err := f.s.Checkpoint(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Errorf("a checkpoint before the folder was synced: %v", err)
	}
	f.verify()
	f.s.SetFault(nil)
	mustClose(t, f.s.Checkpoint(t.Context()))
	f.verify()
	mustClose(t, f.s.Close())
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
