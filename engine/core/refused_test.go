package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// TestRefusedStateLeavesItsGroupAlone: where the state of one series cannot be used, the error
// names the series, the other series of its group are read, appended to and stored, Check reports
// it, and the series can be dropped and made anew. One such state made its whole group unreadable.
func TestRefusedStateLeavesItsGroupAlone(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 20)
	f.mustFeed(100)
	bad := f.refs[7]
	if err := s.EditState(bad, func(w []uint64) { w[0] = 1 << 63 }); err != nil { // a last update before 1970
		t.Fatal(err)
	}
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s.Close())
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	f = f.reopened(s)

	for i, ref := range f.refs {
		rows, err := s.Fetch(ctx, ref, 0, programStart, programStart+1000)
		switch {
		case ref != bad && err != nil:
			t.Errorf("series %d: %v", i, err)
		case ref != bad && len(rows.Values) == 0:
			t.Errorf("series %d has no rows", i)
		case ref == bad:
			wantRefused(t, "Fetch", err)
		}
	}
	_, err := s.Info(bad)
	wantRefused(t, "Info", err)
	_, err = s.Export(ctx, bad)
	wantRefused(t, "Export", err)
	_, err = s.Last(bad)
	wantRefused(t, "Last", err)

	rejected, ok := errors.AsType[*core.RejectedError](f.feed(1))
	if !ok || rejected.Accepted != 19 || rejected.Other != 1 || !errors.Is(rejected, core.ErrDamaged) {
		t.Errorf("an append to all 20: %v", rejected)
	}
	f.tick++
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	problems, err := s.Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].What, fmt.Sprintf("%#x", uint64(bad))) {
		t.Errorf("Check: %v", problems)
	}

	if err := core.Drop(ctx, s, "host/7"); err != nil {
		t.Fatal(err)
	}
	if f.refs[7], err = s.Create(ctx, core.Spec{Path: "host/7", Definition: testDefinition(t), Start: rra.Seconds(programStart)}); err != nil {
		t.Fatal(err)
	}
	f.mustFeed(1)
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	if problems, err := s.Check(ctx); err != nil || len(problems) > 0 {
		t.Errorf("after it was made anew: %v, %v", problems, err)
	}
	mustClose(t, s.Close())
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	f.reopened(s).mustFeed(1)
	mustClose(t, s.Close())
}

// wantRefused wants the error of a series whose state cannot be used.
func wantRefused(t *testing.T, what string, err error) {
	t.Helper()
	damage, ok := errors.AsType[*core.DamageError](err)
	if !ok || damage.Series != "host/7" || damage.Bucket != "state" {
		t.Errorf("%s: %v, want damage of host/7 in the bucket state", what, err)
	}
}

// TestMissingSeriesIsNamed: one sample of a series that was dropped is named among those that were
// refused, however many late ones stand before it. A receiver whose senders repeated themselves
// never learned that its references were of no series any more.
func TestMissingSeriesIsNamed(t *testing.T) {
	s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	f := newFeeder(t, s, 1000)
	f.mustFeed(1)
	if err := core.Drop(t.Context(), s, "host/990"); err != nil {
		t.Fatal(err)
	}
	f.tick--
	rejected, ok := errors.AsType[*core.RejectedError](f.feed(1))
	if !ok || rejected.Late != 999 || rejected.Other != 1 || len(rejected.First) != 16 {
		t.Fatalf("refused: %v", rejected)
	}
	for i, x := range rejected.First {
		if want := i == 15; errors.Is(x.Err, core.ErrNotFound) != want || x.Index != i && !want {
			t.Errorf("number %d is sample %d: %v", i, x.Index, x.Err)
		}
	}
}
