package receivers_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// TestQueueGathers: with two batches on their way the third is left to grow, and goes as soon as
// one has come back.
func TestQueueGathers(t *testing.T) {
	sink := &held{got: make(chan int, 10), release: make(chan struct{})}
	var c receivers.Counters
	q := receivers.NewQueue(sink, &c, receivers.Config{InFlight: 8, Gather: -1})
	add := func(n int) {
		for range n {
			q.Add(1, rra.Seconds(1000), []rra.Value{rra.Float(1)})
		}
		q.Flush()
	}
	var got []int
	for range 2 {
		add(1)
		got = append(got, <-sink.got)
	}
	for range 3 {
		add(10)
	}
	sink.release <- struct{}{}
	got = append(got, <-sink.got)
	add(5) // two are on their way again
	if n := len(sink.got); n > 0 {
		t.Errorf("%d more batches are handed over with two on their way", n)
	}
	close(sink.release)
	got = append(got, <-sink.got)
	q.Stop()
	if want := []int{1, 1, 30, 5}; !slices.Equal(got, want) {
		t.Errorf("batches of %v samples, want %v", got, want)
	}
	if s := c.Stats(); s.Samples != 37 {
		t.Errorf("stats %+v, want 37 samples", s)
	}
}

// TestQueueWaits: samples that were flushed wait for others until the clock shows the next multiple
// of Gather, a full batch goes at once, and Stop stores all that wait. Batches are used again.
func TestQueueWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gather = 40 * time.Millisecond
		sink := &held{got: make(chan int, 10), release: make(chan struct{})}
		close(sink.release)
		var c receivers.Counters
		q := receivers.NewQueue(sink, &c, receivers.Config{Gather: gather})
		begun := time.Now().Truncate(gather).Add(gather)
		time.Sleep(time.Until(begun))
		add := func(n int) {
			for range n {
				q.Add(1, rra.Seconds(1000), []rra.Value{rra.Float(1)})
			}
			q.Flush()
		}
		expect := func(want int, after time.Duration) {
			t.Helper()
			got := <-sink.got
			if d := time.Since(begun); got != want || d != after {
				t.Errorf("%d samples after %v, want %d after %v", got, d, want, after)
			}
		}
		time.Sleep(30 * time.Millisecond)
		add(1)
		time.Sleep(5 * time.Millisecond)
		add(2)
		expect(3, gather)
		time.Sleep(time.Millisecond)
		add(4)
		expect(4, 2*gather)
		add(20_000)
		expect(16_384, 2*gather)
		expect(20_000-16_384, 3*gather)

		// The time comes while a batch is being filled.
		add(5)
		time.Sleep(gather - time.Millisecond)
		q.Add(1, rra.Seconds(1000), []rra.Value{rra.Float(1)})
		time.Sleep(time.Millisecond)
		synctest.Wait()
		q.Flush()
		expect(6, 4*gather)

		add(7)
		q.Stop()
		expect(7, 4*gather)
		time.Sleep(2 * gather)
		if n := len(sink.got); n > 0 {
			t.Errorf("%d batches more after Stop", n)
		}
		if n := len(sink.made); n != 2 {
			t.Errorf("%d batches were made, where two were used at a time", n)
		}
	})
}

// TestQueueKeepsOrder: whoever hands a batch over, the one who fills it or the one who waits for
// others, samples come in the order in which they were added.
func TestQueueKeepsOrder(t *testing.T) {
	const samples = 200_000
	rec := new(receivertest.Recorder)
	reqs := []receivers.Request{{Identity: receivers.Identity{Path: "p"}, Define: receivers.StandardDefinition}}
	if err := rec.Resolve(t.Context(), reqs); err != nil {
		t.Fatal(err)
	}
	var c receivers.Counters
	q := receivers.NewPatientQueue(t.Context(), rec, &c, receivers.Config{InFlight: 3, Gather: -1})
	for i := int64(0); i < samples; {
		q.Do(func(q *receivers.Queue) {
			for end := min(i+7, samples); i < end; i++ {
				q.Add(reqs[0].Ref, rra.Seconds(i), []rra.Value{rra.Int(i)})
			}
		})
	}
	q.Stop()
	got := rec.Samples()
	for i := range got {
		if got[i].At != rra.Seconds(int64(i)) {
			t.Fatalf("sample %d is of %v", i, got[i].At)
		}
	}
	if len(got) != samples || c.Stats().Samples != samples {
		t.Errorf("%d samples came, %d counted, want %d", len(got), c.Stats().Samples, samples)
	}
}

// TestPatienceEnds: once its context has ended a patient queue waits for nobody, however many samples
// come.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &held{got: make(chan int, 100), release: make(chan struct{})}
		var c receivers.Counters
		ctx, cancel := context.WithCancel(t.Context())
		q := receivers.NewPatientQueue(ctx, sink, &c, receivers.Config{InFlight: 1})
		add := func(n int64, want bool) {
			q.Do(func(q *receivers.Queue) {
				for i := range n {
					if q.Add(1, rra.Seconds(i), []rra.Value{rra.Int(i)}) != want {
						t.Fatalf("sample %d: there is room: %v, want %v", i, !want, want)
					}
				}
			})
		}
		add(2*16_384, true) // all that it holds
		cancel()
		begun := time.Now()
		add(1000, false)
		if n := c.Stats().Dropped[receivers.Overload]; n != 1000 {
			t.Errorf("%d samples counted as shed, want 1000", n)
		}
		if d := time.Since(begun); d > 0 {
			t.Errorf("it has waited %s", d)
		}
		close(sink.release)
		q.Stop()
	})
}

// A held sink reports the length of each batch, and is through with one whenever it is released.
type held struct {
	receivertest.Recorder
	got     chan int
	release chan struct{}
	made    map[*core.Batch]bool
}

func (s *held) Submit(_ context.Context, b *core.Batch) (receivers.Pending, error) {
	if s.made == nil {
		s.made = make(map[*core.Batch]bool)
	}
	s.made[b] = true
	s.got <- b.Len()
	return s, nil
}

func (s *held) Wait() error {
	<-s.release
	return nil
}
