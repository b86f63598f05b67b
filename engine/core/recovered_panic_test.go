package core_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// TestClosesAfterARecoveredPanic: a call with a nil context or a nil batch, or a function of the
// caller's, panics, and the program recovers, as net/http does. Close waited for that call for
// ever.
func TestClosesAfterARecoveredPanic(t *testing.T) {
	s, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.Create(t.Context(), core.Spec{Path: "a", Definition: d})
	if err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	b.Add(ref, rra.TimeOf(time.Unix(1_700_000_000, 0)), rra.Float(1))
	var none context.Context
	for name, call := range map[string]func(){
		"Append, no context": func() { _ = s.Append(none, &b) },
		"Append, no batch":   func() { _ = s.Append(t.Context(), nil) },
		"Update, no context": func() { _, _ = s.Update(none, ref, &b) },
		"Update, no batch":   func() { _, _ = s.Update(t.Context(), ref, nil) },
		"Create, no context": func() { _, _ = s.Create(none, core.Spec{Path: "b", Definition: d}) },
		"Drop, no context":   func() { _ = core.Drop(none, s, "a") },
		"Rename, no context": func() { _ = s.Rename(none, "a", "b") },
		"Flush, no context":  func() { _ = s.Flush(none, []core.Ref{ref}) },
		"Fetch, no context":  func() { _, _ = s.Fetch(none, ref, 0, 0, 10) },
		"FetchMany, fn fails": func() {
			_ = s.FetchMany(t.Context(), []core.Span{{Ref: ref, End: 10}}, func(int, *core.Rows, error) { panic("x") })
		},
		"Alter, change fails": func() { _, _ = s.Alter(t.Context(), "a", func(core.Copy) (core.Copy, error) { panic("x") }) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close waits for a call that ended in a panic")
	}
}

// TestAClosedStoreIsClosedFirst: writing to a closed store that had been opened for reading said
// that it was read-only.
func TestAClosedStoreIsClosedFirst(t *testing.T) {
	dir := t.TempDir()
	for _, readOnly := range []bool{false, true} {
		s, err := core.Open(dir, core.Options{ReadOnly: readOnly})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), new(core.Batch)); !errors.Is(err, core.ErrClosed) {
			t.Errorf("read-only %v: %v", readOnly, err)
		}
	}
}

// TestGivingUpIsNoFailedCheckpoint: a backup whose caller gave up counted as a checkpoint that
// failed, and raised the alarm that a disk is full.
func TestGivingUpIsNoFailedCheckpoint(t *testing.T) {
	s, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var backup bytes.Buffer
	if err := s.Backup(ctx, &backup); !errors.Is(err, context.Canceled) {
		t.Errorf("backup of an empty store: %v", err) // it was nil, and the backup a file that Restore refuses
	}
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), core.Spec{Path: "a", Definition: d}); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(ctx, &backup); !errors.Is(err, context.Canceled) {
		t.Errorf("backup: %v", err)
	}
	if n := s.Stats().CheckpointFailures; n != 0 {
		t.Errorf("%d checkpoints failed", n)
	}
}
