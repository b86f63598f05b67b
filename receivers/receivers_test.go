package receivers_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

func TestAppendComponent(t *testing.T) {
	for _, test := range []struct {
		parts []string
		want  string
	}{
		{[]string{"web1"}, "web1"},
		{[]string{"tail", "-", "a-b.c"}, "tail-a-b.c"},
		{[]string{"a/b\x00\x1f\x20\x7f"}, "a_b__ _"},
		{[]string{"µ\xffx\xc3"}, "µ\uFFFDx\uFFFD"},
		{[]string{"a\u0085b\u009b31m\u2028\u2029\u00a0"}, "a_b_31m__\u00a0"},
		{[]string{"a\u202eb\u200b\ufeff\u2066\U000e0041", "👩\u200d💻"}, "a_b____👩\u200d💻"},
		{[]string{"\uFFFD"}, "\uFFFD"},
		{[]string{"."}, "_"},
		{[]string{".", "."}, "__"},
		{[]string{"..."}, "..."},
		{[]string{".", "-", "."}, ".-."},
		{nil, ""},
	} {
		if got := string(receivers.AppendComponent([]byte(".."), test.parts...)); got != ".."+test.want {
			t.Errorf("%q is %q, want %q", test.parts, got, ".."+test.want)
		}
	}
}

// TestQueueOutcomes: what the sink says of batches becomes counters.
func TestQueueOutcomes(t *testing.T) {
	sink := &scripted{outcomes: []error{
		nil,
		&core.RejectedError{Accepted: 1, Late: 2, Other: 1, First: []core.Rejection{{Err: core.ErrNotFound}}},
		errors.New("disk on fire"),
	}}
	var c receivers.Counters
	q := receivers.NewQueue(sink, &c, receivers.Config{InFlight: 4, Gather: -1})
	for i := range 3 {
		for range 4 {
			q.Add(1, rra.Seconds(int64(i)), []rra.Value{rra.Int(1), rra.Int(2)})
		}
		q.Flush()
	}
	q.Note("host", core.Note{Text: "hello"})
	q.Stop()
	if !q.Stale() || q.Stale() {
		t.Error("a reference was refused: not said, or said twice")
	}
	st := c.Stats()
	want := receivers.Stats{Samples: 12, Values: 24}
	want.Dropped[receivers.Late], want.Dropped[receivers.State], want.Dropped[receivers.Failed] = 2, 1, 4
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sink.notes != 1 {
		t.Errorf("%d notes, want 1", sink.notes)
	}
}

// scripted is a sink whose batches have given outcomes.
type scripted struct {
	receivertest.Recorder
	outcomes []error
	notes    int
}

func (s *scripted) Submit(context.Context, *core.Batch) (receivers.Pending, error) {
	err := s.outcomes[0]
	s.outcomes = s.outcomes[1:]
	return outcome{err}, nil
}

func (s *scripted) Note(context.Context, string, core.Note) error { s.notes++; return nil }

func (s *scripted) Describe(_ context.Context, ds []receivers.Description) ([]error, error) {
	return make([]error, len(ds)), nil
}

func (s *scripted) Metadata(context.Context, string) (core.Metadata, error) {
	return core.Metadata{}, nil
}

type outcome struct{ err error }

func (o outcome) Wait() error { return o.err }
