package receivers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// resolved returns a Recorder with n series, whose references are 1 to n.
func resolved(t testing.TB, n int) *receivertest.Recorder {
	t.Helper()
	rec := new(receivertest.Recorder)
	reqs := make([]receivers.Request, n)
	for i := range reqs {
		reqs[i] = receivers.Request{Identity: receivers.Identity{Path: fmt.Sprint("s", i)}, Define: receivers.StandardDefinition}
	}
	if err := rec.Resolve(t.Context(), reqs); err != nil {
		t.Fatal(err)
	}
	return rec
}

func until(t testing.TB, rec *receivertest.Recorder, cond func(receivertest.State) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitFor)
	defer cancel()
	if err := rec.Until(ctx, cond); err != nil {
		t.Fatal(err)
	}
}

// TestSharedQueue: what goroutines add at once is stored whole, each one's in its order.
func TestSharedQueue(t *testing.T) {
	const peers, most = 8, 2000
	rec := resolved(t, peers)
	var c receivers.Counters
	q := receivers.NewSharedQueue(rec, &c, receivers.Config{})
	var running sync.WaitGroup
	for peer := range peers {
		running.Go(func() {
			for i := 0; i < most; i += 2 {
				q.Do(func(q *receivers.Queue) {
					for n := i; n < i+2; n++ {
						q.Add(core.Ref(peer+1), rra.Seconds(int64(n)), []rra.Value{rra.Int(int64(n))})
					}
				})
			}
		})
	}
	running.Wait()
	q.Stop()
	called := false
	q.Do(func(*receivers.Queue) { called = true })
	if called {
		t.Error("Do still does something after Stop")
	}
	next := make(map[string]rra.Time)
	for _, s := range rec.Samples() {
		if s.At != next[s.Path] {
			t.Fatalf("%s: sample at %v, want %v", s.Path, s.At, next[s.Path])
		}
		next[s.Path] += rra.Seconds(1)
	}
	if st := c.Stats(); len(rec.Samples()) != peers*most || st.Samples != peers*most {
		t.Errorf("%d samples stored, %d counted, want %d", len(rec.Samples()), st.Samples, peers*most)
	}
}

// slow is a sink that takes one batch at a time, and each takes some time.
type slow struct {
	receivertest.Recorder
	tick chan struct{}
}

func (s *slow) Submit(ctx context.Context, b *core.Batch) (receivers.Pending, error) {
	<-s.tick
	return s.Recorder.Submit(ctx, b)
}

// TestSharedQueueIsFair: a flood is shed, and not the few samples of another sender.
func TestSharedQueueIsFair(t *testing.T) {
	sink := &slow{tick: make(chan struct{})}
	reqs := []receivers.Request{
		{Identity: receivers.Identity{Path: "flood"}, Define: receivers.StandardDefinition},
		{Identity: receivers.Identity{Path: "good"}, Define: receivers.StandardDefinition},
	}
	if err := sink.Resolve(t.Context(), reqs); err != nil {
		t.Fatal(err)
	}
	var c receivers.Counters
	q := receivers.NewSharedQueue(sink, &c, receivers.Config{InFlight: 2})
	quit := make(chan struct{})
	var stalled atomic.Bool // the sink takes nothing
	var running sync.WaitGroup
	running.Go(func() {
		for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
			if stalled.Load() {
				continue
			}
			select {
			case sink.tick <- struct{}{}:
			case <-quit:
				close(sink.tick)
				return
			}
		}
	})
	const most, flood = 5, 80_000
	for i := range most {
		q.Do(func(q *receivers.Queue) {
			stalled.Store(true)
			defer stalled.Store(false)
			for n := range flood {
				q.Add(reqs[0].Ref, rra.Seconds(int64(i*flood+n)), []rra.Value{rra.Int(1)})
			}
		})
		q.Do(func(q *receivers.Queue) {
			if !q.Add(reqs[1].Ref, rra.Seconds(int64(i)), []rra.Value{rra.Int(1)}) {
				t.Errorf("sample %d of the good sender is shed", i)
			}
		})
	}
	close(quit)
	q.Stop()
	running.Wait()
	if c.Stats().Dropped[receivers.Overload] == 0 {
		t.Error("nothing was shed: the test tells nothing")
	}
}

// TestSharedQueueLeavesNothing: what finds all batches on their way is handed over later, though no
// one comes again.
func TestSharedQueueLeavesNothing(t *testing.T) {
	rec := resolved(t, 1)
	var c receivers.Counters
	q := receivers.NewSharedQueue(rec, &c, receivers.Config{InFlight: 1, Gather: -1})
	defer q.Stop()
	release := rec.Stall()
	defer release()
	add := func(n int64) {
		q.Do(func(q *receivers.Queue) { q.Add(1, rra.Seconds(n), []rra.Value{rra.Int(n)}) })
	}
	add(1)
	until(t, rec, func(s receivertest.State) bool { return s.Waiting == 1 })
	add(2)
	add(3)
	if n := len(rec.Samples()); n != 0 {
		t.Fatalf("%d samples went past", n)
	}
	release()
	until(t, rec, func(s receivertest.State) bool { return len(s.Samples) == 3 })
}

// refusing is a sink that has forgotten every series.
type refusing struct{ receivertest.Recorder }

func (*refusing) Submit(context.Context, *core.Batch) (receivers.Pending, error) {
	return outcome{&core.RejectedError{Other: 1, First: []core.Rejection{{Err: core.ErrNotFound}}}}, nil
}

// TestSharedQueueGeneration: all learn that references are stale, at most once a second.
func TestSharedQueueGeneration(t *testing.T) {
	var c receivers.Counters
	var mu sync.Mutex
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	q := receivers.NewSharedQueue(new(refusing), &c, receivers.Config{Now: clock, Gather: -1})
	defer q.Stop()
	refused := uint64(0)
	refuse := func() uint64 {
		t.Helper()
		q.Do(func(q *receivers.Queue) { q.Add(7, rra.Seconds(1), []rra.Value{rra.Int(1)}) })
		refused++
		wait(t, func() bool { return c.Stats().Dropped[receivers.State] == refused })
		return q.Generation()
	}
	next := func() uint64 {
		q.Do(func(*receivers.Queue) {})
		return q.Generation()
	}
	if g := refuse(); g != 0 {
		t.Errorf("generation %d before anyone came by", g)
	}
	wait(t, func() bool { return next() == 1 })
	for range 3 {
		if g := refuse(); g != 1 {
			t.Errorf("generation %d in the same second, want 1", g)
		}
	}
	mu.Lock()
	now = now.Add(time.Second)
	mu.Unlock()
	wait(t, func() bool { return next() == 2 })
	mu.Lock()
	now = now.Add(time.Hour)
	mu.Unlock()
	if g := next(); g != 2 {
		t.Errorf("generation %d though nothing was refused, want 2", g)
	}
}

// TestPatientQueue: a reader that waits for room loses nothing, and may be called off.
func TestPatientQueue(t *testing.T) {
	rec := resolved(t, 1)
	var c receivers.Counters
	ctx, cancel := context.WithCancel(t.Context())
	q := receivers.NewPatientQueue(ctx, rec, &c, receivers.Config{InFlight: 1})
	release := rec.Stall()
	defer release()
	n := 0
	fill := func(most int) (full bool) {
		for i := 0; i < most && !full; i++ {
			q.Do(func(q *receivers.Queue) {
				if full = !q.Add(1, rra.Seconds(int64(n+1)), []rra.Value{rra.Int(1)}); !full {
					n++
				}
			})
		}
		return full
	}
	ended := make(chan error, 1)
	go func() {
		if fill(100_000) {
			ended <- errors.New("samples are shed")
		}
		ended <- nil
	}()
	until(t, rec, func(s receivertest.State) bool { return s.Waiting == 1 })
	release()
	if err := receive(t, ended); err != nil {
		t.Error(err)
	}
	again := rec.Stall()
	defer again()
	full := make(chan error, 1)
	go func() {
		if !fill(1_000_000) {
			full <- errors.New("there is always room")
		}
		full <- nil
	}()
	until(t, rec, func(s receivertest.State) bool { return s.Waiting == 1 })
	cancel()
	if err := receive(t, full); err != nil {
		t.Error(err)
	}
	again()
	q.Stop()
	if st := c.Stats(); len(rec.Samples()) != n || st.Samples != uint64(n) || st.Dropped[receivers.Overload] != 1 {
		t.Errorf("%d samples of %d stored: %+v", len(rec.Samples()), n, st)
	}
}

// TestSharedQueueAllocates: handing samples over costs no memory.
func TestSharedQueueAllocates(t *testing.T) {
	var c receivers.Counters
	q := receivers.NewSharedQueue(new(receivertest.Nowhere), &c, receivers.Config{})
	defer q.Stop()
	values := []rra.Value{rra.Int(1)}
	at := rra.Time(0)
	run := func() {
		for range 100 {
			at++
			q.Do(func(q *receivers.Queue) { q.Add(1, at, values) })
		}
	}
	for range 100 {
		run()
	}
	if n := testing.AllocsPerRun(100, run); n > 1 {
		t.Errorf("%v allocations for 100 samples, want none", n)
	}
}

// wait waits until cond is true of something that gives no sign.
func wait(t *testing.T, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(waitFor); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v", waitFor)
		}
	}
}

// receive returns what comes from c.
func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(waitFor):
		t.Fatalf("nothing comes within %v", waitFor)
	}
	return v
}
