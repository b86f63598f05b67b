package core_test

import (
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestCheckDuringCheckpoints checks a store while it is written: pages that a transaction takes are
// no problem.
func TestCheckDuringCheckpoints(t *testing.T) {
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{NoBackground: true})
	f := newFeeder(t, s, 300)
	f.mustFeed(200)
	mustClose(t, s.Checkpoint(t.Context()))
	var done atomic.Bool
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer done.Store(true)
		for range seedtest.Often(20, 60) {
			if err := f.feed(5); err != nil {
				t.Error(err)
			}
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}()
	for !done.Load() && !t.Failed() {
		enginetest.Check(t, s)
	}
	<-over
	f.verify()
}
