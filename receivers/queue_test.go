package receivers_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// TestQueueGathers: with two batches on their way the third is left to grow, whatever Flush is told.
func TestQueueGathers(t *testing.T) {
	sink := &held{got: make(chan int, 10), release: make(chan struct{})}
	var c receivers.Counters
	q := receivers.NewQueue(sink, &c, receivers.Config{InFlight: 8})
	add := func(n int) {
		for range n {
			q.Add(1, rra.Seconds(1000), []rra.Value{rra.Float(1)})
		}
	}
	var got []int
	for range 2 {
		add(1)
		if !q.Flush() {
			t.Fatal("a batch is held back with fewer than two on their way")
		}
		got = append(got, <-sink.got)
	}
	for range 3 {
		add(10)
		if q.Flush() {
			t.Fatal("a third batch is handed over with two on their way")
		}
	}
	sink.release <- struct{}{}
	flush(t, q)
	got = append(got, <-sink.got)
	close(sink.release)
	q.Stop()
	if want := []int{1, 1, 30}; !slices.Equal(got, want) {
		t.Errorf("batches of %v samples, want %v", got, want)
	}
	if s := c.Stats(); s.Samples != 32 {
		t.Errorf("stats %+v, want 32 samples", s)
	}
}

// flush has q hand everything over, as soon as it may.
func flush(t *testing.T, q *receivers.Queue) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !q.Flush(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatal("the batch is not handed over though others have come back")
		}
	}
}

// A held sink tells the length of each batch, and is through with one whenever it is released.
type held struct {
	receivertest.Recorder
	got     chan int
	release chan struct{}
}

func (s *held) Submit(_ context.Context, b *engine.Batch) (receivers.Pending, error) {
	s.got <- b.Len()
	return s, nil
}

func (s *held) Wait() error {
	<-s.release
	return nil
}
