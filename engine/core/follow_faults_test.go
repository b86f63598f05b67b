package core_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

var errBroken = errors.New("it is broken")

// A breaker lets calls fail: the n-th of a kind, and with forever all later ones until mend. While
// it fails, so do all calls of the kinds in too.
type breaker struct {
	mu      sync.Mutex
	kind    string
	n       int
	forever bool
	too     string
	calls   map[string]int
	failed  int
	mended  bool
}

// ask counts a call and reports whether it fails.
func (b *breaker) ask(kind string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[kind]++
	n := b.calls[kind]
	hit := kind == b.kind && (n == b.n || n > b.n && b.forever) || b.forever && b.failed > 0 && kind == b.too
	if !hit || b.mended {
		return nil
	}
	b.failed++
	return fmt.Errorf("call %d of %s: %w", n, kind, errBroken)
}

// mend ends the failures, and returns how many there were.
func (b *breaker) mend() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mended = true
	return b.failed
}

func (b *breaker) failures() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// options returns o for a store all of whose calls of log and database ask b.
func (b *breaker) options(o core.Options, tp *tap) core.Options {
	tp.fail(func() error { return b.ask("log open") }, func(p wal.Pos, rec []byte) (wal.Pos, []byte, error) {
		return p, rec, b.ask("log read")
	})
	o = tp.options(o).WithFault(func(op string, _ *os.File, _ int64, _ []byte) error { return b.ask("database " + op) })
	o.OpenLog = func(after wal.Pos, onDurable core.OnDurable) (core.Log, error) {
		if err := b.ask("writer open"); err != nil {
			return nil, err
		}
		l, err := tp.log.Open(after, onDurable)
		if err != nil {
			return nil, err
		}
		return &brokenLog{l, b}, nil
	}
	return o
}

// A brokenLog is a writer's end of a stream whose calls fail.
type brokenLog struct {
	*waltest.StreamLog
	b *breaker
}

func (l *brokenLog) Replay(from wal.Pos, fn func(p wal.Pos, rec []byte) error) error {
	return l.StreamLog.Replay(from, func(p wal.Pos, rec []byte) error {
		if err := l.b.ask("writer replay"); err != nil {
			return err
		}
		return fn(p, rec)
	})
}

func (l *brokenLog) Close() error {
	return errors.Join(l.StreamLog.Close(), l.b.ask("writer close"))
}

// A faultyFollower is one run of a follower with a breaker.
type faultyFollower struct {
	t   *testing.T
	l   *fedLog
	b   *breaker
	tap *tap
	s   *core.Store
	met int // errors that calls and Standing returned
}

// failure takes an error that must be the breaker's. If it is there for good, it is mended.
func (f *faultyFollower) failure(what string, err error) {
	f.t.Helper()
	f.met++
	if !errors.Is(err, errBroken) {
		f.t.Fatalf("%s: %v", what, err)
	}
	if f.b.forever {
		f.b.mend()
	}
}

// call makes a call that may fail. Then the store follows as it did, is read as it was, and the
// same call succeeds when the disk works again.
func (f *faultyFollower) call(what string, fn func() error) {
	f.t.Helper()
	role := f.s.Role()
	err := fn()
	if err == nil {
		return
	}
	at := f.s.Position()
	if st, _ := f.s.Standing(); st.Role == core.Halted || what == "promote" && st.Role != role {
		f.t.Fatalf("%s: it stands as %+v", what, st)
	}
	if _, err := f.s.Fetch(f.t.Context(), f.l.feeder.refs[3], 0, programStart, programStart+500); err != nil {
		f.t.Errorf("%s: fetch: %v", what, err)
	}
	f.failure(what, err)
	if err := fn(); err != nil {
		f.t.Fatalf("%s, when all works again: %v", what, err)
	}
	if p := f.s.Position(); p < at {
		f.t.Errorf("%s: the position went from %d to %d", what, at, p)
	}
}

// follow lets the store follow up to p. If it does not reach the log, it says so, and goes on by
// itself.
func (f *faultyFollower) follow(p wal.Pos) {
	f.t.Helper()
	f.tap.turn(p)
	done := make(chan error, 1)
	go func() { done <- f.s.WaitFor(f.t.Context(), p) }()
	end := time.After(patience)
	for {
		st, changed := f.s.Standing()
		if st.Err != nil {
			if st.Role != core.Follower {
				f.t.Fatalf("it stands as %+v", st)
			}
			f.failure("follow", st.Err)
		}
		select {
		case err := <-done:
			mustClose(f.t, err)
			return
		case <-changed:
		case <-end:
			f.t.Fatalf("it stands as %+v, want position %d", st, p)
		}
	}
}

// standing waits for a standing.
func (f *faultyFollower) standing(is func(core.Standing) bool) core.Standing {
	f.t.Helper()
	end := time.After(patience)
	for {
		st, changed := f.s.Standing()
		if is(st) {
			return st
		}
		select {
		case <-changed:
		case <-end:
			f.t.Fatalf("it stands as %+v", st)
		}
	}
}

// run lets a follower do all that it does, with one failure.
func (f *faultyFollower) run() {
	t, ctx := f.t, f.t.Context()
	last := f.l.log.Reader().Last()
	f.tap = newTap(f.l.log, 0)
	o := f.b.options(core.Options{NoBackground: true}, f.tap)
	dir := t.TempDir()
	s, err := core.Open(dir, o)
	if err != nil {
		f.failure("open", err)
		s = mustOpen(t, dir, o)
	}
	f.s = s
	early := f.b.failures()
	checkpoint := func() { f.call("checkpoint", func() error { return f.s.Checkpoint(ctx) }) }
	f.follow(last / 3)
	checkpoint()
	f.follow(last - 9)
	f.call("backup", func() error { return f.s.Backup(ctx, io.Discard) })
	checkpoint()
	f.follow(last - 5)
	f.call("promote", func() error { return f.s.Promote(ctx) })
	f.tap.all()
	checkpoint()
	f.call("demote", func() error { return f.s.Demote(ctx) })
	f.follow(last)
	checkpoint()
	if silent := f.b.forever && f.b.failures() > 0 && f.met == 0; silent && strings.HasPrefix(f.b.kind, "log ") {
		// it had all when it lost the log
		f.failure("follow", f.standing(func(st core.Standing) bool { return st.Err != nil }).Err)
	} else if silent && f.b.kind != "database committed" { // which counts, once the file is mended
		t.Error("nothing told of calls that failed for good")
	}
	failed := f.b.mend()
	f.standing(func(st core.Standing) bool { return st.Role == core.Follower && st.Err == nil })
	if st := f.s.Stats(); strings.HasPrefix(f.b.kind, "database commit") && failed > early && st.DatabaseFailures == 0 {
		t.Errorf("no failure of the database is counted: %+v", st)
	}
	same(t, "after the failure", f.s, f.l.lead)
	mustClose(t, f.s.Abandon())
	f.s = mustOpen(t, dir, shared(core.Options{NoBackground: true}, f.l.log))
	awaitAt(t, f.s, last)
	same(t, "opened again", f.s, f.l.lead)
	mustClose(t, f.s.Close())
}

// TestFollowerFaults fails each call on the log and on the database that a follower makes, as it
// follows, leads and follows again: the first of a kind, some in between and the last, once and for
// good. The store reports it, is read meanwhile, does not halt, and goes on when the disk works
// again.
func TestFollowerFaults(t *testing.T) {
	l := newFedLog(t)
	mustClose(t, l.lead.Demote(t.Context()))
	try := func(kind string, n int, forever bool, too string) *faultyFollower {
		f := &faultyFollower{t: t, l: l, b: &breaker{kind: kind, n: n, forever: forever, too: too, calls: make(map[string]int)}}
		f.run()
		return f
	}
	calls := try("", 0, false, "").b.calls
	for _, kind := range []string{"log open", "log read", "writer open", "writer replay", "writer close", "database commit", "database committed"} {
		runs, failed, met := 0, 0, 0
		step := max(1, (calls[kind]-1)/seedtest.Often(1, 3)) // the first and the last, and some between
		for n := 1; n <= calls[kind]; n += step {
			for _, how := range []struct {
				forever bool
				too     string
			}{{false, ""}, {true, ""}, {true, "database repair"}, {true, "database reopen"}} {
				if how.too != "" && !strings.HasPrefix(kind, "database") {
					continue
				}
				f := try(kind, n, how.forever, how.too)
				if t.Failed() {
					t.Fatalf("%s, call %d, for good: %v, %s", kind, n, how.forever, how.too)
				}
				if n == 1 && f.b.failed == 0 {
					t.Errorf("%s: the first call did not fail", kind)
				}
				runs++
				failed += min(1, f.b.failed) // how often it looks again depends on time
				met += min(1, f.met)
			}
		}
		t.Logf("%s: %d calls in a run; %d runs, %d of them with a failure; %d failures were told", kind, calls[kind], runs, failed, met)
		if runs == 0 {
			t.Errorf("%s: no call in a run", kind)
		}
	}
	l.close(t)
}
