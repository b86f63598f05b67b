package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// TestBadSampleLeavesTheOthers: samples that no log record can hold are refused one by one, and the
// others of the batch are stored. One of them failed the whole batch.
func TestBadSampleLeavesTheOthers(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 3)
	at := func(n int64) rra.Time { return rra.Seconds(programStart + 10*n) }
	long := []string{strings.Repeat("1", 5000)}
	var b core.Batch
	b.Add(f.refs[0], at(1), rra.Float(1))
	b.AddText(f.refs[1], at(1), []rra.Value{rra.Text(0)}, long)
	b.Add(f.refs[2], at(1), rra.Float(1))
	b.Add(f.refs[2]+1, at(1), rra.Float(1)) // a number that no series has yet
	b.Add(1<<60, at(1), rra.Float(1))
	b.Add(f.refs[0], at(2), rra.Float(1), rra.Float(2))
	b.Add(f.refs[0], core.MaxTime+1, rra.Float(1))
	b.Add(f.refs[0], at(2), rra.Float(2))
	rejected, ok := errors.AsType[*core.RejectedError](s.Append(t.Context(), &b))
	if !ok {
		t.Fatal("nothing was rejected")
	}
	var refused []int
	for _, x := range rejected.First {
		refused = append(refused, x.Index)
	}
	if want := []int{1, 3, 4, 5, 6}; !slices.Equal(refused, want) || rejected.Accepted != 3 || rejected.Other != 5 {
		t.Errorf("refused %v, want %v: %v", refused, want, rejected)
	}
	for i, want := range []rra.Time{at(2), at(0), at(1)} {
		if got, err := s.Last(f.refs[i]); err != nil || got != want {
			t.Errorf("series %d: last update %d, %v, want %d", i, got, err, want)
		}
	}
	if st := s.Stats(); st.SamplesAccepted != 3 || st.SamplesRefused != 5 {
		t.Errorf("counted: %d accepted, %d refused", st.SamplesAccepted, st.SamplesRefused)
	}

	b.Reset() // nothing is left of it
	b.AddText(f.refs[1], at(1), []rra.Value{rra.Text(0)}, long)
	if rejected, ok := errors.AsType[*core.RejectedError](s.Append(t.Context(), &b)); !ok || rejected.Other != 1 {
		t.Errorf("a batch of one bad sample: %v", rejected)
	}
	f.tick = 5
	f.mustFeed(3)
}

// TestBadSampleEndsItsCommand: a sample that no log record can hold ends an update command, as a
// refused one does: what stands before it is stored, what stands behind it is not.
func TestBadSampleEndsItsCommand(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 2)
	at := func(n int64) rra.Time { return rra.Seconds(programStart + 10*n) }
	long := []string{strings.Repeat("1", 5000)}
	var b core.Batch
	b.Add(f.refs[0], at(1), rra.Float(1))
	b.AddText(f.refs[0], at(2), []rra.Value{rra.Text(0)}, long)
	b.Add(f.refs[0], at(3), rra.Float(1))
	n, err := s.Update(t.Context(), f.refs[0], &b)
	if rejected, ok := errors.AsType[*core.RejectedError](err); !ok || n != 1 || rejected.First[0].Index != 1 {
		t.Errorf("Update: %d stored, %v", n, err)
	}
	b.Reset()
	b.Add(f.refs[1], at(1), rra.Float(1))
	b.AddText(f.refs[1], at(2), []rra.Value{rra.Text(0)}, long)
	b.Follow()
	b.Add(f.refs[1], at(3), rra.Float(1))
	b.Follow()
	b.Add(f.refs[0], at(4), rra.Float(1))
	rejected, ok := errors.AsType[*core.RejectedError](s.Append(t.Context(), &b))
	if !ok || rejected.Accepted != 2 || rejected.First[0].Index != 1 {
		t.Errorf("Append: %v", rejected)
	}
	for i, want := range []rra.Time{at(4), at(1)} {
		if got, err := s.Last(f.refs[i]); err != nil || got != want {
			t.Errorf("series %d: last update %d, %v, want %d", i, got, err, want)
		}
	}
}

// TestSampleOfNobodyLeavesNoTrace: a sample of a number that no series has yet is not logged. It
// moved the coding context of the number, which no checkpoint keeps, and after a crash the samples
// of the series that got the number were others.
func TestSampleOfNobodyLeavesNoTrace(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 3)
	f.mustFeed(2)
	next := f.refs[2] + 1
	var b core.Batch
	b.Add(next, f.at(), rra.Float(42))
	if err := s.Append(t.Context(), &b); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a sample of nobody: %v", err)
	}
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	ref := mustCreate(t, s, "late", testDefinition(t))
	if ref != next {
		t.Fatalf("the new series is %#x, not %#x: the test shows nothing", ref, next)
	}
	for i := range int64(6) {
		b.Reset()
		b.Add(ref, f.at()+rra.Seconds(10*(i+1)), rra.Float(43))
		mustAppend(t, s, &b)
	}
	want := mustDigest(t, s)
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{NoBackground: true})), want)
	mustClose(t, s.Close())
}

// TestAppendAfterItsContext: with a context that has ended Append returns its error and stores
// nothing.
func TestAppendAfterItsContext(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 1)
	f.mustFeed(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b core.Batch
	b.Add(f.refs[0], f.at()+rra.Seconds(10), rra.Float(1))
	if err := s.Append(ctx, &b); !errors.Is(err, context.Canceled) {
		t.Errorf("Append: %v", err)
	}
	if _, err := s.Update(ctx, f.refs[0], &b); !errors.Is(err, context.Canceled) {
		t.Errorf("Update: %v", err)
	}
	if last, err := s.Last(f.refs[0]); err != nil || last != f.at() {
		t.Errorf("last update %d, %v, want %d", last, err, f.at())
	}
}

// TestWaitForNothing: Wait on a ticket that stands for no batch is an error. It waited for ever.
func TestWaitForNothing(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 1)
	var ticket core.Ticket
	if ticket.Wait() == nil {
		t.Error("a new ticket: no error")
	}
	var b core.Batch
	b.Add(f.refs[0], f.at()+rra.Seconds(10), rra.Float(1))
	if err := s.Submit(t.Context(), &b, &ticket); err != nil {
		t.Fatal(err)
	}
	if err := ticket.Wait(); err != nil {
		t.Error(err)
	}
	if ticket.Wait() == nil {
		t.Error("a ticket that was waited for: no error")
	}
}
