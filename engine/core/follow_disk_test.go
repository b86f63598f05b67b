//go:build faults

package core_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal/waltest"
)

// day lets a follower follow, write checkpoints and a backup, lead and follow again, until a call
// fails. The log is on other machines, and keeps its power.
func day(t *testing.T, s *core.Store, log *tap, r *rand.Rand) error {
	ctx := t.Context()
	last := log.log.Reader().Last()
	step := last / 4
	for p := s.Position() + 1 + step/2; p < last; p += 1 + step/2 {
		log.turn(p)
		if err := s.WaitFor(ctx, p); err != nil {
			return err
		}
		if err := s.Checkpoint(ctx); err != nil {
			return err
		}
	}
	if err := s.Backup(ctx, io.Discard); err != nil {
		return err
	}
	if err := s.Promote(ctx); err != nil {
		return err
	}
	log.all()
	if err := s.Demote(ctx); err != nil {
		return err
	}
	return s.Checkpoint(ctx)
}

// TestDiskFollowerCuts loses the power of a follower's machine at random: writes into its database
// that were not synced are lost, kept, torn or kept in another order. What is left goes on behind
// its checkpoint, through many such losses, and then holds what a follower holds that had none.
func TestDiskFollowerCuts(t *testing.T) {
	seed := seedtest.One(t)
	l := newFollowedLog(t, seed)
	want := mustDigest(t, l.lead)
	mustClose(t, l.lead.Close())
	r := rand.New(rand.NewPCG(seed, 31))
	cuts, days := 0, 0
	for range max(3, powerCuts()/5) {
		dir := t.TempDir()
		base := newBaseDisk(t, seed+uint64(days), dir)
		days++
		for range 6 {
			var mu sync.Mutex
			left := 1 + r.IntN(150)
			base.mu.Lock()
			base.cut = func() bool {
				mu.Lock()
				defer mu.Unlock()
				left--
				return left <= 0
			}
			base.mu.Unlock()
			tp := newTap(l.log, 0)
			s, err := core.Open(dir, tp.options(core.Options{NoBackground: true}).WithFault(base.fault))
			if err == nil {
				err = day(t, s, tp, r)
				_ = s.Abandon() // the disk is gone
			}
			if err != nil && !errors.Is(err, waltest.ErrPower) && !strings.Contains(err.Error(), waltest.ErrPower.Error()) {
				t.Fatalf("a call met %v", err)
			}
			if err != nil {
				cuts++
			}
			base.restart(t)
		}
		s := mustOpen(t, dir, shared(core.Options{NoBackground: true}, l.log))
		await(t, s, l.log)
		sameDigest(t, "after losses of power", mustDigest(t, s), want)
		if ps, err := s.Check(t.Context()); err != nil || len(ps) > 0 {
			t.Errorf("check: %v %v", ps, err)
		}
		mustClose(t, s.Close())
	}
	t.Logf("seed %d: %d losses of power in %d days", seed, cuts, days)
	if cuts == 0 {
		t.Error("power was never lost")
	}
}

// TestDiskFollowerFaults fails calls on a follower's database, the n-th of each kind, once and for
// good. When the disk works again the same store goes on, and holds what it should.
func TestDiskFollowerFaults(t *testing.T) {
	seed := seedtest.One(t)
	l := newFollowedLog(t, seed)
	want := mustDigest(t, l.lead)
	mustClose(t, l.lead.Close())
	try := func(kind string, n int, forever bool) (met bool, calls map[string]int) {
		dir := t.TempDir()
		base := newBaseDisk(t, seed, dir)
		base.fail(kind, n, forever)
		tp := newTap(l.log, 0)
		o := tp.options(core.Options{NoBackground: true}).WithFault(base.fault)
		s, err := core.Open(dir, o)
		if err == nil {
			err = day(t, s, tp, rand.New(rand.NewPCG(1, 1)))
		}
		if err != nil && !errors.Is(err, syscall.EIO) && !strings.Contains(err.Error(), syscall.EIO.Error()) {
			t.Fatalf("%s %d: %v", kind, n, err)
		}
		met = err != nil
		base.fail("", 0, false)
		if s == nil {
			s = mustOpen(t, dir, o)
		}
		if err := day(t, s, tp, rand.New(rand.NewPCG(1, 1))); err != nil {
			t.Fatalf("%s %d (for good: %v): when the disk works again: %v", kind, n, forever, err)
		}
		await(t, s, l.log)
		sameDigest(t, kind, mustDigest(t, s), want)
		calls = base.calls
		_ = s.Abandon() // what it has to say was said
		base.restart(t)
		s = mustOpen(t, dir, shared(core.Options{NoBackground: true}, l.log))
		await(t, s, l.log)
		sameDigest(t, kind+", opened again", mustDigest(t, s), want)
		mustClose(t, s.Close())
		return met, calls
	}
	_, calls := try("", 0, false)
	for kind, n := range calls {
		runs, met := 0, 0
		step, ways := max(1, n/2), []bool{false, true}
		if testing.Short() {
			step, ways = n, ways[1:]
		}
		for i := 1; i <= n; i += step {
			for _, forever := range ways {
				runs++
				if told, _ := try(kind, i, forever); told {
					met++
				}
				if t.Failed() {
					t.Fatalf("%s %d, for good: %v", kind, i, forever)
				}
			}
		}
		t.Logf("database %s: %d calls in a run, %d runs, %d with an error", kind, n, runs, met)
		if met == 0 {
			t.Errorf("database %s: no call failed", kind)
		}
	}
}
