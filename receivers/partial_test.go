package receivers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A torn sink stores what belongs to one partition, and not what belongs to another one.
type torn struct{ receivers.Sink }

func (torn) Submit(context.Context, *core.Batch) (receivers.Pending, error) { return torn{}, nil }

func (torn) Wait() error {
	return &core.PartialError{
		Err: core.ErrUnavailable, Samples: 4, Missing: []int{0, 2},
		Rejected: &core.RejectedError{Accepted: 1, Late: 1, First: []core.Rejection{{Index: 1, Err: &rra.TimeError{}}}},
	}
}

// Of a batch that is stored in part, what is missing is counted and no more.
func TestPartOfABatchIsMissing(t *testing.T) {
	var b core.Batch
	for i := range 4 {
		b.Add(core.Ref(i+1), rra.Seconds(1), rra.Float(1))
	}
	for name, store := range map[string]func(c *receivers.Counters){
		"queue": func(c *receivers.Counters) {
			q := receivers.NewQueue(torn{}, c, receivers.Config{})
			for s := range b.All() {
				q.Add(s.Ref, s.At, s.Values)
			}
			q.Stop()
		},
		"request": func(c *receivers.Counters) {
			err := receivers.NewRequests(torn{}, c, receivers.Config{}).Store(t.Context(), &b, 4)
			if !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("the caller is not told to try again: %v", err)
			}
		},
	} {
		var c receivers.Counters
		store(&c)
		st := c.Stats()
		if st.Dropped[receivers.Overload] != 2 || st.Dropped[receivers.Late] != 1 || st.Samples != 4 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// A sink that is out of reach at first.
type reluctant struct {
	receivers.Sink
	calls atomic.Int32
	got   chan []receivers.Description
}

func (s *reluctant) Describe(_ context.Context, ds []receivers.Description) ([]error, error) {
	switch s.calls.Add(1) {
	case 1:
		return nil, core.ErrUnavailable
	case 2: // of the first one
		s.got <- ds[1:]
		return append([]error{core.ErrUnavailable}, make([]error, len(ds)-1)...), nil
	}
	s.got <- ds
	return make([]error, len(ds)), nil
}

// Metadata wait until the store is within reach, and nothing is counted as lost. A newer text of a
// path takes the place of the one that waits.
func TestMetadataWaitForTheStore(t *testing.T) {
	var c receivers.Counters
	s := &reluctant{got: make(chan []receivers.Description, 2)}
	q := receivers.NewQueue(s, &c, receivers.Config{})
	defer q.Stop()
	describe := func(path, text string) {
		q.Describe(receivers.Description{PathMetadata: core.PathMetadata{Path: path, Metadata: core.Metadata{Text: text}}})
	}
	describe("a", "old")
	for s.calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	describe("a", "new")
	describe("b", "b")
	texts := make(map[string]string)
	for range 2 {
		select {
		case got := <-s.got:
			for _, d := range got {
				texts[d.Path] = d.Text
			}
		case <-time.After(time.Minute):
			t.Fatalf("the metadata never came: %v", texts)
		}
	}
	if len(texts) != 2 || texts["a"] != "new" || texts["b"] != "b" {
		t.Errorf("%v", texts)
	}
	if st := c.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("%+v", st)
	}
}
