package core_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// TestDropSilentAgainstAppend: a series is dropped while samples for it arrive, but never one that has
// been acknowledged.
func TestDropSilentAgainstAppend(t *testing.T) {
	s := enginetest.Open(t)
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	var before atomic.Int64 // no sample at or before this is of interest
	before.Store(programStart - 1)
	stop := make(chan struct{})
	var running sync.WaitGroup
	var dropped atomic.Int64
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			n, err := s.DropSilent(t.Context(), []string{"x"}, rra.Seconds(before.Load()))
			if err != nil {
				t.Errorf("drop: %v", err)
				return
			}
			dropped.Add(int64(n))
		}
	})
	var b core.Batch
	made, stored := 0, 0
	for at := int64(programStart + 1); (stored < 300 || dropped.Load() < 20) && at < programStart+100_000; at++ {
		ref, err := s.Lookup("x")
		if errors.Is(err, core.ErrNotFound) {
			ref = mustCreate(t, s, "x", def)
			made++
		} else if err != nil {
			t.Fatal(err)
		}
		before.Store(at - 1)
		b.Reset()
		b.Add(ref, rra.Seconds(at), rra.Float(1))
		err = s.Append(t.Context(), &b)
		var refused *core.RejectedError
		if errors.As(err, &refused) && errors.Is(refused.First[0].Err, core.ErrNotFound) {
			continue // it was dropped before
		}
		if err != nil {
			t.Fatal(err)
		}
		stored++
		for range 3 {
			if last, err := s.Last(ref); err != nil || last != rra.Seconds(at) {
				t.Fatalf("last is %d, %v after a sample at %d was acknowledged", last, err, at)
			}
		}
	}
	close(stop)
	running.Wait()
	if stored < 300 || dropped.Load() < 20 {
		t.Errorf("%d samples stored, %d drops: the two have not met", stored, dropped.Load())
	}
}
