package core_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// load runs the appenders of c on s until each of them has met an error or has done ops operations.
// retry gets an error and says whether to do the operation again.
func (c *crashRun) load(s *core.Store, depth, ops int, retry func(error) bool) {
	c.t.Helper()
	var wg sync.WaitGroup
	for i, m := range c.apps {
		wg.Go(func() {
			a := newCrashAppender(s, c.task.seed, i, m.n)
			a.depth = depth
			a.begin = func(n int) { m.begun = n + 1 }
			a.done = func(n int) { m.acked = n + 1 }
			for range ops {
				n := a.p.n
				o := a.p.next()
				err := a.op(n, &o)
				for err != nil && retry(err) {
					err = a.op(n, &o)
				}
				if err != nil {
					return
				}
			}
			if err := a.wait(0); err != nil && !retry(err) {
				return
			}
		})
	}
	wg.Wait()
}

// powerCuts is how often power is lost.
func powerCuts() int { return max(3, seedtest.Crashes(0)/2) }

// TestPowerCut puts the log on a disk that forgets what was not synced and loses power at random.
func TestPowerCut(t *testing.T) {
	seed := seedtest.One(t)
	c := newCrashRun(t, seed)
	r := rand.New(rand.NewPCG(seed, 11))
	disk := waltest.NewDisk(seed)
	c.wrap = func(o core.Options) core.Options { return o.WithFS(disk) }
	for range powerCuts() {
		disk.CutAt(1 + r.IntN(300))
		s, err := core.Open(c.task.dir, c.wrap(core.Options{CheckpointBytes: 16 << 10}))
		if err == nil {
			c.load(s, 3, 1<<30, func(err error) bool {
				if !errors.Is(err, waltest.ErrPower) {
					t.Errorf("an operation met %v", err)
				}
				return false
			})
			_ = s.Abandon() // the log is gone
		} else if !errors.Is(err, waltest.ErrPower) {
			t.Fatalf("open: %v", err)
		}
		disk = disk.Restart()
		c.verify()
		c.task.gen++
	}
}

// TestStreamPowerCut is TestPowerCut with a log that is no file system's: a stream that is cut in
// the middle of a commit.
func TestStreamPowerCut(t *testing.T) {
	seed := seedtest.One(t)
	c := newCrashRun(t, seed)
	r := rand.New(rand.NewPCG(seed, 13))
	log := waltest.NewStream(seed)
	c.wrap = func(o core.Options) core.Options { return onStream(o, log) }
	for range powerCuts() {
		log.CutAt(1 + r.IntN(150))
		s, err := core.Open(c.task.dir, c.wrap(core.Options{CheckpointBytes: 16 << 10}))
		if err != nil && !errors.Is(err, waltest.ErrPower) {
			t.Fatalf("open: %v", err)
		}
		if err == nil {
			c.load(s, 3, 1<<30, func(err error) bool {
				if !errors.Is(err, waltest.ErrPower) {
					t.Errorf("an operation met %v", err)
				}
				return false
			})
			_ = s.Abandon() // the log is gone
		}
		log = log.Restart()
		c.verify()
		c.task.gen++
	}
}

// TestLogFaults lets the log fail now and then under load: what waits for it gets an error, and
// everything goes on without a restart when it works again.
func TestLogFaults(t *testing.T) {
	seed := seedtest.One(t)
	t.Run("segments", func(t *testing.T) {
		disk := waltest.NewDisk(seed)
		r := rand.New(rand.NewPCG(seed, 12))
		fault := faultsNowAndThen(r, 12, 60)
		disk.Fault = func(op waltest.Op) (kept int, err error) { // called with the disk locked
			if err = fault(); err != nil && op.Length > 0 {
				kept = r.IntN(int(op.Length))
			}
			return kept, err
		}
		testLogFaults(t, seed, func(o core.Options) core.Options { return o.WithFS(disk) }, func() {
			disk.Fault = nil
		}, func() { disk = disk.Restart() })
	})
	t.Run("stream", func(t *testing.T) {
		log := waltest.NewStream(seed)
		fault := faultsNowAndThen(rand.New(rand.NewPCG(seed, 14)), 3, 40)
		log.Fault = func(wal.Pos, wal.Pos) error { return fault() } // called with the stream locked
		testLogFaults(t, seed, func(o core.Options) core.Options { return onStream(o, log) }, func() {
			log.Fault = nil
		}, func() { log = log.Restart() })
	})
}

// faultsNowAndThen returns a function that says whether the next step fails: up to mostBad of them
// in a row, with either a full disk or an error of it, and up to mostGood good ones between.
func faultsNowAndThen(r *rand.Rand, mostBad, mostGood int) func() error {
	good, bad := 20, 0
	what, next := syscall.ENOSPC, syscall.EIO
	return func() error {
		if good > 0 {
			if good--; good == 0 {
				bad = 1 + r.IntN(mostBad)
				what, next = next, what
			}
			return nil
		}
		if bad--; bad == 0 {
			good = 1 + r.IntN(mostGood)
		}
		return what
	}
}

// testLogFaults runs appenders on a log that fails until works is called. restart is a loss of
// power.
func testLogFaults(t *testing.T, seed uint64, wrap func(core.Options) core.Options, works, restart func()) {
	c := newCrashRun(t, seed)
	c.wrap = wrap
	s, err := core.Open(c.task.dir, c.wrap(core.Options{CheckpointBytes: 16 << 10}))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var full, io int
	c.load(s, 0, seedtest.Often(30, 60), func(err error) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case errors.Is(err, wal.ErrFull) && errors.Is(err, syscall.ENOSPC):
			full++
		case errors.Is(err, wal.ErrRetry) && errors.Is(err, syscall.EIO):
			io++
		default:
			t.Errorf("an operation met %v", err)
			return false
		}
		_ = s.Checkpoint(context.Background()) // it may have failed: then appends are refused until one succeeds
		return true
	})
	t.Logf("%d operations met a full disk, %d a broken one", full, io)
	if full+io == 0 {
		t.Error("no operation met a fault")
	}
	if st := s.Stats(); st.LogFailures == 0 {
		t.Error("no failure was counted")
	}
	c.compare(s)
	before := mustDigest(t, s)
	works()
	if err := s.Checkpoint(context.Background()); err != nil {
		t.Errorf("checkpoint after the faults: %v", err)
	}
	sameDigest(t, "checkpoint", mustDigest(t, s), before)
	if err := s.Abandon(); err != nil {
		t.Error(err)
	}
	restart()
	s = c.open(core.Options{})
	sameDigest(t, "reopen", mustDigest(t, s), before)
	c.compare(s)
	c.close(s.Close())
}
