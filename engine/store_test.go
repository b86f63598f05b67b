package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine"
)

// open returns a store in a folder of its own, which is checked and closed at the end of the test.
func open(t *testing.T) *engine.Store {
	t.Helper()
	s, err := engine.Open(t.TempDir(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if problems, err := s.Check(context.Background()); err != nil || len(problems) > 0 {
			t.Errorf("check: %v, %v", problems, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestNonsenseOptionsAreRefused: an option that cannot be is refused by Open, and named. The store opened, and then every
// call failed.
func TestNonsenseOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]engine.Options{
		"Memory":       {Memory: -1},
		"MaxSeries":    {MaxSeries: -1},
		"Reorder":      {Reorder: 1500 * time.Millisecond},
		"SyncInterval": {SyncInterval: -time.Second},
		"Sync":         {Sync: 17},
	} {
		s, err := engine.Open(t.TempDir(), o)
		if err == nil {
			_ = s.Close() // it should not have been opened
		}
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "Options."+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSeries takes a series from its making to its end.
func TestSeries(t *testing.T) {
	s, ctx := open(t), t.Context()
	d, err := engine.Define(10*time.Second, "10s for 1h", "DS:v:GAUGE:20:U:U")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1_700_000_000, 0)
	spec := engine.Spec{Path: "a", Definition: d, Start: start}
	ref, err := s.Create(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Create(ctx, spec); !errors.Is(err, engine.ErrExists) || again != ref {
		t.Errorf("Create of what exists: %#x, %v, want %#x, ErrExists", again, err, ref)
	}
	if again, err := s.GetOrCreate(ctx, spec); err != nil || again != ref {
		t.Errorf("GetOrCreate: %#x, %v, want %#x", again, err, ref)
	}
	if info, err := s.Info(ctx, "a"); err != nil || info.Ref != ref || !info.LastUpdate.Equal(start) {
		t.Errorf("Info: %+v, %v", info, err)
	}
	if err := s.Rename(ctx, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Info(ctx, "a"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("Info of the old path: %v", err)
	}
	if n := s.Stats().Series; n != 1 {
		t.Errorf("%d series", n)
	}
	if err := s.Drop(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fetch(ctx, ref, engine.Query{From: start, To: start.Add(time.Minute)}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("Fetch of a dropped series: %v", err)
	}
}

// TestFetchRefuses: a range whose end is before its start, and a consolidation function that no archive has. The range was
// told as a negative number of rows.
func TestFetchRefuses(t *testing.T) {
	s, ctx := open(t), t.Context()
	d, err := engine.Define(10*time.Second, "1m for 1h", "DS:v:GAUGE:20:U:U")
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.Create(ctx, engine.Spec{Path: "a", Definition: d})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Fetch(ctx, ref, engine.Query{From: time.Unix(10, 0), To: time.Unix(5, 0)})
	if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "before the start") {
		t.Errorf("end before start: %v", err)
	}
	_, err = s.Fetch(ctx, ref, engine.Query{CF: engine.Max, From: time.Unix(0, 0), To: time.Unix(60, 0)})
	if !errors.Is(err, engine.ErrNoArchive) {
		t.Errorf("no such archive: %v", err)
	}
}

// TestMatchersAreChecked: an expression that does not parse, and a matcher that was made without NewMatcher, are errors. The
// latter was a nil pointer.
func TestMatchersAreChecked(t *testing.T) {
	s := open(t)
	if _, err := engine.NewMatcher(engine.MatchRegexp, "host", "[0-"); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("NewMatcher: %v", err)
	}
	for _, err := range s.Select(t.Context(), engine.Matcher{Name: "host", Op: engine.MatchRegexp, Value: "x"}) {
		if !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("Select: %v", err)
		}
		return
	}
	t.Error("Select yielded nothing")
}
