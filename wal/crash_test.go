package wal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// life is one log on one disk through crashes and failures, and what must be true of it.
type life struct {
	testing.TB
	rnd  *rand.Rand
	disk *waltest.Disk
	o    wal.Options
	log  *wal.Log

	mu      sync.Mutex
	given   map[wal.Pos][][]byte // what was enqueued at a position, the latest last
	acked   wal.Pos              // reported as durable
	durable wal.Pos              // must survive a power cut
	failed  wal.Pos              // the first position of the last failure reported
	seq     int
}

// rounds is how many times the crash tests go round: a tenth of RONDO_CRASHES.
func rounds() int { return max(1, seedtest.Crashes(1)/10) }

const crashDir = "/db/wal"

func newLife(t testing.TB, seed uint64, o wal.Options) *life {
	l := &life{
		TB: t, rnd: rand.New(rand.NewPCG(seed, 2)), disk: waltest.NewDisk(seed), o: o,
		given: map[wal.Pos][][]byte{},
	}
	l.o.OnDurable = l.told
	return l
}

func (l *life) told(first, last wal.Pos, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first != l.acked+1 || last < first {
		l.Errorf("told of %d to %d (%v) after %d", first, last, err, l.acked)
	}
	if err != nil {
		l.Logf("failed %d to %d: %v", first, last, err)
		l.failed = first
		return
	}
	l.acked = last
	if l.o.Sync == wal.SyncAlways {
		l.durable = last
	}
}

// start opens the log and checks it: all that was acknowledged is there, then perhaps more that was
// enqueued, in order and with nothing missing between.
func (l *life) start() {
	l.Helper()
	l.o.FS = l.disk
	log, err := wal.Open(crashDir, l.o)
	if err != nil {
		l.Fatalf("open after a crash: %v", err)
	}
	l.log = log
	l.Cleanup(func() { _ = log.Close() }) // a test that cares closes it itself
	if log.Last() < l.durable {
		l.Fatalf("log ends at %d, durable was %d", log.Last(), l.durable)
	}
	l.check(max(log.First(), 1))
	// What was shown now must not vanish again.
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked, l.durable, l.failed = log.Last(), log.Last(), 0
	for p := range l.given {
		if p > l.acked {
			delete(l.given, p)
		}
	}
}

func (l *life) check(from wal.Pos) {
	l.Helper()
	if err := l.compare(from); err != nil {
		l.Fatal(err)
	}
}

// compare wants what was enqueued at position from and behind it.
func (l *life) compare(from wal.Pos) error {
	next, last := from, l.log.Last()
	err := l.log.Replay(from, func(p wal.Pos, rec []byte) error {
		if p != next {
			return fmt.Errorf("got position %d, want %d", p, next)
		}
		next++
		l.mu.Lock()
		defer l.mu.Unlock()
		given := l.given[p]
		for i, g := range given {
			// Where it was acknowledged only the last one given will do.
			if bytes.Equal(g, rec) && (i == len(given)-1 || p > l.acked) {
				l.given[p] = [][]byte{g} // seen, and so it stays
				return nil
			}
		}
		return fmt.Errorf("position %d: got %.20q, which is not what was appended (%.20q; acknowledged up to %d)", p, rec, given, l.acked)
	})
	if err != nil {
		return fmt.Errorf("replay from %d: %w", from, err)
	}
	if next <= last {
		return fmt.Errorf("replay from %d ended with %d, last is %d", from, next-1, last)
	}
	return nil
}

// enqueue gives the log a record that no other position or attempt has.
func (l *life) enqueue() error {
	l.mu.Lock()
	l.seq++
	rec := fmt.Appendf(nil, "%d:%s", l.seq, bytes.Repeat([]byte{byte(l.seq)}, l.rnd.IntN(40)))
	if l.rnd.IntN(10) == 0 {
		for range 100 + l.rnd.IntN(900) {
			rec = append(rec, byte(l.rnd.Uint32()))
		}
	}
	l.mu.Unlock()
	p, err := l.log.Enqueue(rec)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given[p] = append(l.given[p], rec)
	return nil
}

// work does about n things to the log; it goes on after failures.
func (l *life) work(n int) {
	ctx := context.Background()
	for range n {
		switch l.rnd.IntN(12) {
		case 0:
			if err := l.log.Truncate(l.log.Last() - min(l.log.Last(), wal.Pos(l.rnd.IntN(30)))); err != nil && !isFault(err) {
				l.Fatalf("truncate: %v", err)
			}
		case 1:
			if p, err := l.log.Barrier(ctx); err == nil {
				l.mu.Lock()
				l.durable = max(l.durable, p)
				l.mu.Unlock()
			} else if !isFault(err) {
				l.Fatalf("barrier: %v", err)
			}
		default:
			for range l.rnd.IntN(5) {
				if err := l.enqueue(); err != nil {
					l.Fatalf("enqueue: %v", err)
				}
			}
			if l.rnd.IntN(3) > 0 {
				_, _ = l.log.Barrier(ctx) // the commit's end, however it ends
			}
		}
	}
}

func isFault(err error) bool {
	return errors.Is(err, waltest.ErrPower) || errors.Is(err, wal.ErrRetry) || errors.Is(err, wal.ErrFull)
}

// crash ends the process by a kill or by loss of power.
func (l *life) crash(kill bool) {
	// The disk first, so that closing cannot write any more.
	disk := l.disk
	if kill {
		l.disk = disk.Kill()
	} else {
		l.disk = disk.Restart()
	}
	_ = l.log.Close() // its disk is gone
}

// modes are the ways to keep a log that crashes are tried on.
var modes = []struct {
	name string
	o    wal.Options
}{
	{"always", wal.Options{SegmentBytes: 4000}},
	{"always-plain", wal.Options{SegmentBytes: 2000, DisablePreallocate: true}},
	{"interval", wal.Options{SegmentBytes: 4000, Sync: wal.SyncInterval, Interval: 100 * time.Microsecond}},
	{"none", wal.Options{SegmentBytes: 4000, Sync: wal.SyncNone}},
}

// Power is cut in each operation in turn, and again while the log is opened afterwards.
func TestPowerCutAtEveryOperation(t *testing.T) {
	first := seedtest.One(t) * 1e6
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for cut := 1; cut <= 150; cut++ {
				if rounds() == 1 && cut > 60 && cut%3 != 0 {
					continue
				}
				for s := range rounds() {
					seed := first + uint64(cut*1000+s)
					t.Run(fmt.Sprint(seed), func(t *testing.T) { powerCuts(t, m.o, seed, cut) })
				}
			}
		})
	}
}

func powerCuts(t *testing.T, o wal.Options, seed uint64, cut int) {
	l := newLife(t, seed, o)
	l.start()
	for range 3 {
		l.disk.CutAt(cut)
		l.work(cut / 2)
		l.crash(l.rnd.IntN(4) == 0)
		// A few crashes during recovery.
		for range l.rnd.IntN(3) {
			l.disk.CutAt(1 + l.rnd.IntN(4))
			l.o.FS = l.disk
			log, err := wal.Open(crashDir, l.o)
			if err == nil {
				l.log = log
				l.crash(false)
				continue
			}
			if !errors.Is(err, waltest.ErrPower) {
				t.Fatalf("open: %v", err)
			}
			l.disk = l.disk.Restart()
		}
		l.start()
	}
	l.work(20)
	l.check(l.log.First())
	if err := l.log.Close(); err != nil {
		t.Fatal(err)
	}
}

// Any operation may fail, with any error and for any length of time, and power is cut at the end.
func TestFailuresThenRecovery(t *testing.T) {
	first := seedtest.One(t) * 1e6
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for i := range uint64(rounds()) * 60 {
				seed := first + i
				t.Run(fmt.Sprint(seed), func(t *testing.T) { failures(t, m.o, seed) })
			}
		})
	}
}

func failures(t *testing.T, o wal.Options, seed uint64) {
	l := newLife(t, seed, o)
	rnd := rand.New(rand.NewPCG(seed, 3))
	l.start()
	for range 3 {
		var mu sync.Mutex
		broken := true
		odds := 1 + rnd.IntN(8)
		only := []string{"", "sync", "write", "rename", "syncdir"}[rnd.IntN(5)]
		l.disk.Fault = func(op waltest.Op) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if !broken || rnd.IntN(odds) != 0 || only != "" && only != op.Kind {
				return 0, nil
			}
			kept := 0
			if op.Length > 0 {
				kept = rnd.IntN(int(op.Length) + 1)
			}
			return kept, []error{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT}[rnd.IntN(3)]
		}
		l.work(40)
		l.check(l.log.First())
		mu.Lock()
		broken = false
		mu.Unlock()
		// Nothing but time must be needed. The first attempt may still meet what failed before.
		_, _ = l.log.Barrier(t.Context())
		for range 10 {
			if err := l.enqueue(); err != nil {
				t.Fatalf("enqueue after the fault: %v", err)
			}
		}
		p, err := l.log.Barrier(t.Context())
		if err != nil || p != l.log.Last() {
			t.Fatalf("barrier after the fault: %d, last %d: %v", p, l.log.Last(), err)
		}
		l.mu.Lock()
		l.durable = max(l.durable, p)
		l.mu.Unlock()
		l.check(l.log.First())
		l.work(10)
		l.crash(rnd.IntN(2) == 0)
		l.start()
	}
}

// A full disk fails appends with ErrFull, and takes them again when there is space.
func TestDiskFull(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			l := newLife(t, 7, m.o)
			l.disk.Capacity = 20_000
			l.start()
			rec := make([]byte, 300)
			for i := range rec {
				rec[i] = byte(l.rnd.Uint32())
			}
			var full error
			for i := 0; full == nil && i < 100; i++ {
				_, full = appendGiven(l, rec)
			}
			if !errors.Is(full, wal.ErrFull) || !errors.Is(full, syscall.ENOSPC) {
				t.Fatalf("append to a full disk: got %v, want ErrFull and ENOSPC", full)
			}
			last := l.log.Last()
			if last < 30 {
				t.Errorf("disk of %d bytes was full after %d records of %d", l.disk.Capacity, last, len(rec))
			}
			l.check(1)
			for range 20 {
				_, _ = appendGiven(l, rec)
			}
			if n := len(l.disk.Files("*")); n > 20 {
				t.Errorf("trying again left %d files", n)
			}
			if err := l.log.Truncate(last - 10); err != nil {
				t.Fatal(err)
			}
			last = l.log.Last()
			if p, err := appendGiven(l, rec); err != nil || p != last+1 {
				t.Fatalf("append when there is space: got %d, %v, want %d", p, err, last+1)
			}
			l.check(l.log.First())
			l.crash(true)
			l.start()
		})
	}
}

func appendGiven(l *life, rec []byte) (wal.Pos, error) {
	p, err := l.log.Append(context.Background(), rec)
	if err == nil {
		l.given[p] = append(l.given[p], bytes.Clone(rec))
	}
	return p, err
}
