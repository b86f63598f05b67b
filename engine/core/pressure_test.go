package core_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// slowDisk is a disk whose syncs wait while it is held.
func slowDisk(t *testing.T) (disk *waltest.Disk, hold, let func()) {
	t.Helper()
	disk = waltest.NewDisk(1)
	var gate sync.RWMutex
	disk.Fault = func(op waltest.Op) (int, error) {
		if op.Kind == "sync" {
			gate.RLock()
			defer gate.RUnlock()
		}
		return 0, nil
	}
	return disk, gate.Lock, gate.Unlock
}

// TestSlowLog holds the log: appends wait, a bounded number of bytes with them, and give up with
// their context.
func TestSlowLog(t *testing.T) {
	t.Run("segments", func(t *testing.T) {
		disk, hold, let := slowDisk(t)
		testSlowLog(t, core.Options{NoBackground: true}.WithFS(disk), hold, let)
	})
	t.Run("stream", func(t *testing.T) {
		log := waltest.NewStream(1)
		testSlowLog(t, onStream(core.Options{NoBackground: true}, log), log.Hold, log.Release)
	})
}

func testSlowLog(t *testing.T, o core.Options, hold, let func()) {
	s := mustOpen(t, t.TempDir(), o)
	f := newFeeder(t, s, 64)
	f.mustFeed(1)
	hold()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var done, given atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			var tickets []*core.Ticket
			for j := int64(0); ; j++ {
				var b core.Batch
				for k := range int64(1000) {
					b.Add(f.refs[i], f.at()+rra.Seconds(1000*j+k+1), rra.Float(1/float64(j+k+1)))
				}
				x := new(core.Ticket)
				if err := s.Submit(ctx, &b, x); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					break
				}
				tickets = append(tickets, x)
			}
			given.Add(1)
			for _, x := range tickets {
				if err := x.Wait(); err != nil {
					t.Error(err)
				}
				done.Add(1)
			}
		})
	}
	for s.Queued() < core.MaxQueued && !t.Failed() {
		runtime.Gosched()
	}
	cancel()
	for given.Load() < 16 { // those who wait for a place go, while the log is still held
		runtime.Gosched()
	}
	if n := s.Queued(); n > core.MaxQueued+16*64<<10 {
		t.Errorf("%d bytes are queued", n)
	}
	if n := done.Load(); n > 0 {
		t.Errorf("%d appends were acknowledged by a log that stands still", n)
	}
	let()
	wg.Wait()
	if n := s.Queued(); n != 0 {
		t.Errorf("%d bytes are queued at rest", n)
	}
	t.Logf("%d appends were acknowledged", done.Load())
	enginetest.Check(t, s)
	mustClose(t, s.Close())
}

// TestSlowCheckpoint holds the log back when checkpoints do not keep up.
func TestSlowCheckpoint(t *testing.T) {
	gate := make(chan struct{})
	o := core.Options{CheckpointBytes: 32 << 10}.WithHook(func(name string) {
		if name == "checkpoint-groups" {
			<-gate
		}
	})
	s := mustOpen(t, t.TempDir(), o)
	f := newFeeder(t, s, 300)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		g := *f
		for i := range int64(1 << 20) {
			var b core.Batch
			for _, ref := range g.refs {
				b.Add(ref, rra.Seconds(programStart+10*(i+1)), rra.Float(float64(i)))
			}
			if err := s.Append(ctx, &b); err != nil {
				failed <- err
				return
			}
		}
	}()
	for s.Logged() <= 2*32<<10 { // a checkpoint stands, and twice its volume has come since
		runtime.Gosched()
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("append that waits for a checkpoint: %v", err)
	}
	if n := s.Logged(); n > 2*32<<10+8192 {
		t.Errorf("%d bytes were logged behind a checkpoint that stands", n)
	}
	close(gate)
	mustClose(t, s.Close())
}

// TestMemoryBudget appends to more groups than the budget holds: they take turns in memory.
func TestMemoryBudget(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 5120)
	f.mustFeed(2)
	mustClose(t, s.Checkpoint(t.Context()))
	need := s.Stats().MemoryBytes
	mustClose(t, s.Close())

	budget := need / 4
	s = mustOpen(t, dir, core.Options{Memory: budget, CheckpointInterval: 1 << 60})
	f = f.reopened(s)
	size := s.GroupSize(f.refs[0])
	most := int64(0)
	for range 3 {
		f.tick++
		for from := 0; from < len(f.refs); from += size {
			var b core.Batch
			for i := from; i < min(from+size, len(f.refs)); i++ {
				b.Add(f.refs[i], f.at(), rra.Float(float64(f.tick*int64(i+1)%1000)/4))
			}
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatalf("append within a budget of %d: %v", budget, err)
			}
			most = max(most, s.Stats().MemoryBytes)
		}
	}
	st := s.Stats()
	t.Logf("budget %d of %d, at most %d in use, %d groups unloaded", budget, need, most, st.GroupsDropped)
	if st.GroupsDropped == 0 || most > budget+need/10 {
		t.Errorf("%d groups unloaded, %d bytes in use at most, the budget is %d", st.GroupsDropped, most, budget)
	}
	f.verify()
	mustClose(t, s.Close())
	s = mustOpen(t, dir, core.Options{})
	f.reopened(s).verify()
	mustClose(t, s.Close())
}

// A budget that nothing fits in is an error or slow, not a wait without an end; a changed window is
// logged all the same.
func TestMemoryExhausted(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 1000)
	f.mustFeed(2)
	mustClose(t, s.Abandon())
	for _, tt := range []struct {
		o    core.Options
		want error
	}{
		{core.Options{Memory: 1000, NoBackground: true}, core.ErrMemory}, // nobody writes a checkpoint
		{core.Options{Memory: 1000}, nil},                                // one batch, one checkpoint
		{core.Options{Memory: 1000, Reorder: 20e9}, core.ErrMemory},      // what is held stays in memory
		{core.Options{Memory: 1000}, nil},                                // until the window is closed
	} {
		s = mustOpen(t, dir, tt.o)
		f = f.reopened(s)
		for _, ref := range f.refs { // all that is held is in memory before the first sample comes
			if _, err := s.Last(ref); err != nil {
				t.Error(err)
			}
		}
		if err := f.feed(3); !errors.Is(err, tt.want) {
			t.Errorf("append with %+v: %v, want %v", tt.o, err, tt.want)
		}
		if _, err := s.Last(f.refs[0]); err != nil {
			t.Error(err)
		}
		mustClose(t, s.Close())
	}
	s = mustOpen(t, dir, core.Options{})
	f = f.reopened(s)
	f.mustFeed(1)
	f.verify()
	mustClose(t, s.Close())
}

// TestCloseInFlight closes a store while batches are on their way and callers come.
func TestCloseInFlight(t *testing.T) {
	for round := range 12 {
		dir := t.TempDir()
		s := mustOpen(t, dir, core.Options{CheckpointBytes: 4 << 10, Sync: []wal.Sync{wal.SyncAlways, wal.SyncNone}[round%2]})
		f := newFeeder(t, s, 8)
		acked := make([]int64, len(f.refs))
		var wg sync.WaitGroup
		var busy atomic.Int64
		for i, ref := range f.refs {
			wg.Go(func() {
				var tickets [4]core.Ticket
				var batches [4]core.Batch
				begun := int64(0)
				wait := func() {
					if err := tickets[acked[i]%4].Wait(); err != nil {
						t.Errorf("a batch that was taken: %v", err)
					}
					acked[i]++
				}
				for {
					if begun-acked[i] == 4 {
						wait()
					}
					b := &batches[begun%4]
					b.Reset()
					b.Add(ref, rra.Seconds(programStart+10*(begun+1)), rra.Float(1))
					if err := s.Submit(context.Background(), b, &tickets[begun%4]); err != nil {
						if !errors.Is(err, core.ErrClosed) {
							t.Errorf("submit to a store that closes: %v", err)
						}
						break
					}
					begun++
					busy.Add(1)
				}
				for acked[i] < begun {
					wait()
				}
			})
		}
		wg.Go(func() {
			for {
				if _, err := s.Fetch(context.Background(), f.refs[0], 0, programStart, programStart+1000); err != nil {
					if !errors.Is(err, core.ErrClosed) {
						t.Errorf("fetch from a store that closes: %v", err)
					}
					return
				}
			}
		})
		for busy.Load() < int64(20*round) {
			runtime.Gosched()
		}
		mustClose(t, s.Close())
		wg.Wait()
		s = mustOpen(t, dir, core.Options{})
		for i, ref := range f.refs {
			if at, err := s.Last(ref); err != nil || at != rra.Seconds(programStart+10*acked[i]) {
				t.Errorf("last update %d, %v after %d batches were acknowledged", at.Unix(), err, acked[i])
			}
		}
		enginetest.Check(t, s)
		mustClose(t, s.Close())
	}
}

func TestUseAfterClose(t *testing.T) {
	ctx := t.Context()
	s := mustOpen(t, t.TempDir(), core.Options{})
	f := newFeeder(t, s, 2)
	f.mustFeed(2)
	list, sel := s.Select(ctx, core.Query{Order: core.ByPath}), s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "a", Op: core.MatchNotEqual, Value: "b"}}, Order: core.ByRef})
	mustClose(t, s.Close())
	var b core.Batch
	b.Add(f.refs[0], f.at()+1e6, rra.Float(1))
	calls := map[string]func() error{
		"Append": func() error { return s.Append(ctx, &b) },
		"Submit": func() error { return s.Submit(ctx, &b, new(core.Ticket)) },
		"Update": func() error { _, err := s.Update(ctx, f.refs[0], &b); return err },
		"Backup": func() error { return s.Backup(ctx, new(discard)) },
		"Create": func() error {
			_, err := s.Create(ctx, core.Spec{Path: "x", Definition: testDefinition(t)})
			return err
		},
		"CreateBatch": func() error { _, err := s.CreateBatch(ctx, nil); return err },
		"Drop":        func() error { return core.Drop(ctx, s, "host/1") },
		"Rename":      func() error { return s.Rename(ctx, "host/1", "y") },
		"Check":       func() error { _, err := s.Check(ctx); return err },
		"Checkpoint":  func() error { return s.Checkpoint(ctx) },
		"Digest":      func() error { _, err := s.Digest(ctx); return err },
		"Fetch":       func() error { _, err := s.Fetch(ctx, f.refs[0], 0, 0, 10); return err },
		"FetchMany": func() error {
			return s.FetchMany(ctx, core.Spans(f.refs, 0, 0, 10), func(int, *core.Rows, error) { t.Error("called") })
		},
		"Info":        func() error { _, err := s.Info(f.refs[0]); return err },
		"Last":        func() error { _, err := s.Last(f.refs[0]); return err },
		"Lookup":      func() error { _, err := s.Lookup("host/1"); return err },
		"Series":      func() error { _, err := s.Series(f.refs[0]); return err },
		"AddNote":     func() error { return s.AddNote(ctx, "k", core.Note{Text: "t"}) },
		"Notes":       func() error { _, err := s.Notes(ctx, "k"); return err },
		"LabelNames":  func() error { _, err := s.Labels(ctx, core.LabelQuery{}); return err },
		"LabelValues": func() error { _, err := s.Labels(ctx, core.LabelQuery{Name: "l"}); return err },
		"Close":       s.Close,
		"List": func() (err error) {
			for _, err = range list {
			}
			return err
		},
		"Select": func() (err error) {
			for _, err = range sel {
			}
			return err
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, core.ErrClosed) {
			t.Errorf("%s after Close: %v, want %v", name, err, core.ErrClosed)
		}
	}
	if st := s.Stats(); st != (core.Stats{}) {
		t.Errorf("Stats after Close: %+v", st)
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }

// TestNothingIsLeftRunning opens and closes stores in every way and counts goroutines.
func TestNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	for i := range 10 {
		s := mustOpen(t, dir, core.Options{Sync: wal.Sync(i % 3), NoBackground: i%2 == 0})
		if i == 0 {
			newFeeder(t, s, 300).mustFeed(5)
		}
		if _, err := core.Open(dir, core.Options{}); !errors.Is(err, core.ErrLocked) {
			t.Errorf("second open: %v", err)
		}
		mustBackup(t, s)
		if i%3 == 0 {
			mustClose(t, s.Abandon())
		} else {
			mustClose(t, s.Close())
		}
		r := mustOpen(t, dir, core.Options{ReadOnly: true})
		mustClose(t, r.Close())
	}
	l := newLostStore(t, true)
	mustClose(t, os.Truncate(l.segments(t)[0], 5000))
	l.refused(t, wal.ErrHole, "") // Open fails half way
	for range 1_000_000 {         // those that have ended may not be gone yet
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}
