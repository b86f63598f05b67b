package core_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// TestReplacedMeanwhile: while a series is replaced again and again, its name always belongs to a
// series that takes samples, and what was stored is seen by whoever asks then, also by a reference
// found before: that has ended, or shows it.
func TestReplacedMeanwhile(t *testing.T) {
	const samples, start = 1000, 1_000_000_000
	s := enginetest.Open(t)
	d, err := rra.ParseDefinition(1, []string{"DS:x:GAUGE:20:U:U", "RRA:LAST:0:1:2000"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), core.Spec{Path: "s", Definition: d, Start: rra.Seconds(start)}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(done)
	others.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_, err := s.Alter(t.Context(), "s", func(c core.Copy) (core.Copy, error) { return c, nil })
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	old, err := s.Lookup("s")
	if err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	for at := int64(start + 1); at <= start+samples; {
		ref, err := s.Lookup("s")
		if err != nil {
			t.Fatalf("%d: %v", at, err)
		}
		b.Reset()
		b.Add(ref, rra.Seconds(at), rra.Float(float64(at)))
		err = s.Append(t.Context(), &b)
		if r, ok := errors.AsType[*core.RejectedError](err); ok && errors.Is(r.First[0].Err, core.ErrNotFound) {
			continue // replaced since it was found
		}
		if err != nil {
			t.Fatalf("%d: %v", at, err)
		}
		rows, err := s.Fetch(t.Context(), old, 0, at-1, at)
		if err == nil && rows.Values[0] != float64(at) {
			t.Fatalf("%d: %v by the reference before", at, rows.Values)
		}
		if last, e := s.Last(old); e == nil && last != rra.Seconds(at) {
			t.Fatalf("%d: the last update was at %d by the reference before", at, last.Unix())
		}
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			t.Fatal(err)
		}
		old = ref
		at++
	}
}

// TestFoundAfterRecovery: a series whose group holds more than the catalogue does is found at once.
func TestFoundAfterRecovery(t *testing.T) {
	dir, copied := t.TempDir(), ""
	s := enginetest.OpenDir(t, dir, core.Options{NoBackground: true}.WithHook(func(point string) {
		if copied == "" && point == "checkpoint-groups" {
			copied = copyStore(t, dir)
		}
	}))
	mustCreate(t, s, "s", definition(t, "DS:x:GAUGE:20:U:U", "RRA:LAST:0:1:10"))
	mustClose(t, s.Checkpoint(t.Context()))
	if copied == "" {
		t.Fatal("the checkpoint did not write groups before the catalogue")
	}
	for _, one := range []bool{false, true} {
		r := enginetest.OpenDir(t, copyStore(t, copied), core.Options{NoBackground: one})
		if _, err := r.Lookup("s"); err != nil || r.Arriving() != 0 {
			t.Errorf("look-up: %v, %d series wait for their group", err, r.Arriving())
		}
	}
}
