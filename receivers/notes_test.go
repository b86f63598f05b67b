package receivers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// forgetful is a sink that keeps no note.
type forgetful struct {
	receivertest.Recorder
	err error
}

func (s *forgetful) Note(context.Context, string, core.Note) error { return s.err }

// A note that waited in vain for the leader of its partition is counted as dropped, with the reason
// that samples have then: overload, not an error of the store.
func TestLostNotesAreCounted(t *testing.T) {
	for _, c := range []struct {
		err    error
		reason receivers.Reason
	}{
		{fmt.Errorf("partition 3 has no leader: %w", core.ErrUnavailable), receivers.Overload},
		{context.DeadlineExceeded, receivers.Overload},
		{errors.New("the disk is broken"), receivers.Failed},
	} {
		var counts receivers.Counters
		q := receivers.NewQueue(&forgetful{err: c.err}, &counts, receivers.Config{})
		for range 3 {
			q.Note("host", core.Note{Text: "hello"})
		}
		q.Stop()
		var want [receivers.NumReasons]uint64
		want[c.reason] = 3
		if got := counts.Stats().Dropped; got != want {
			t.Errorf("%v: dropped %v, want %v", c.err, got, want)
		}
	}
}
