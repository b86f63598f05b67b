package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/rra"
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

// TestNonsenseOptionsAreRefused: an option that cannot be is refused by Open, and named. The store
// opened, and then every call failed.
func TestNonsenseOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]engine.Options{
		"Memory":         {Memory: -1},
		"Memory is 1:":   {Memory: 1},             // it opened, and each Create failed
		"Reorder is -1s": {Reorder: -time.Second}, // the error had nanoseconds
		"MaxSeries":      {MaxSeries: -1},
		"Reorder":        {Reorder: 1500 * time.Millisecond},
		"SyncInterval":   {SyncInterval: -time.Second},
		"Sync":           {Sync: 17},
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

// TestFetchRefuses: a range whose end is before its start, and a consolidation function that no
// archive has. The error gave the range as a negative number of rows.
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

// TestMatchersAreChecked: an expression that does not parse, and a matcher that was made without
// NewMatcher, are errors. The latter was a nil pointer.
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

// TestOpenNeedsAName: an empty name made a database in the working folder.
func TestOpenNeedsAName(t *testing.T) {
	t.Chdir(t.TempDir())
	if s, err := engine.Open("", engine.Options{}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("Open: %v, %v", s, err)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestDefineRefuses: "1m for 1month" was one row of one minute, and no error of Define wrapped
// ErrInvalid.
func TestDefineRefuses(t *testing.T) {
	const ds = "DS:v:GAUGE:20:U:U"
	for _, tt := range []struct {
		step       time.Duration
		keep, want string
	}{
		{time.Minute, "1m for 1moth", "is no duration"},
		{10 * time.Second, "10s for 1h30m", "is no duration"},
		{10 * time.Second, "10s for 1d;", "is no duration"},
		{10 * time.Second, "10s for 100", `"10s for 100": a number needs a unit: 100s, 100m, 100h, 100d`},
		{10 * time.Second, "10s for 1h,60 for 1d", "needs a unit: 60s"},
		{10 * time.Second, "7s for 1d", "a row of 7s is no multiple of the step, 10 s"},
		{10 * time.Second, "RRA:AVERAGE:0.5:1:10", "want ROW for TIME"},
		{0, "10s for 1d", "less than 1 s"},
		{-time.Second, "10s for 1d", "less than 1 s"},
		{1500 * time.Millisecond, "10s for 1d", "not a whole number"},
	} {
		if _, err := engine.Define(tt.step, tt.keep, ds); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, %q: got %v, want %s", tt.step, tt.keep, err, tt.want)
		}
	}
	for _, source := range []string{"DS:v:GUAGE:20:U:U", "DS:v:GAUGE", "DS::GAUGE:20:U:U", "DS:v:GAUGE:x:U:U"} {
		if _, err := engine.Define(time.Second, "1s for 1h", source); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), source) {
			t.Errorf("the data source %q: %v", source, err)
		}
	}
	if _, err := engine.Define(time.Second, "1s for 1h", "celsius"); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "DS:NAME:KIND") {
		t.Errorf("a name for a data source: %v", err)
	}
	if _, err := engine.Gauge("a b"); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a gauge of a wrong name: %v", err)
	}
	if d, err := engine.Counter("in", "out"); err != nil || len(d.Sources) != 2 || d.Sources[1].Name != "out" || d.Sources[1].Kind != rra.Counter {
		t.Errorf("two counters: %+v, %v", d, err)
	}
	d, err := engine.Define(time.Minute, "1m for 1month", ds)
	if err != nil || d.Archives[0].Rows != 31*24*60 {
		t.Errorf("a month of minutes: %+v, %v", d, err)
	}
}

// TestRejectionsNameTheSeries: the error of a rejected sample had a time, and not its series.
func TestRejectionsNameTheSeries(t *testing.T) {
	s, ctx := open(t), t.Context()
	d, err := engine.Define(10*time.Second, "10s for 1h", "DS:v:GAUGE:20:U:U")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1_700_000_000, 0)
	ref, err := s.Create(ctx, engine.Spec{Path: "cellar/temperature", Definition: d, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	var b engine.Batch
	b.Add(ref, start, engine.Float(1))
	b.Add(ref+1, start.Add(time.Second), engine.Float(1))
	b.Add(ref, start.Add(time.Second), engine.Float(1), engine.Float(2))
	err = s.Append(ctx, &b)
	rejected, ok := errors.AsType[*engine.RejectedError](err)
	if !ok || rejected.Accepted != 0 || rejected.Late != 1 || rejected.Other != 2 || len(rejected.First) != 3 {
		t.Fatalf("got %+v", err)
	}
	for _, r := range rejected.First {
		name := `"cellar/temperature": `
		if r.Index == 1 {
			name = fmt.Sprintf("ref %d: ", ref+1)
		}
		if got := r.Err.Error(); !strings.HasPrefix(got, name) || strings.Count(got, name) != 1 {
			t.Errorf("sample %d: %v, want %s…", r.Index, r.Err, name)
		}
	}
}

// TestErrorsNameThePath: Info of a path that no series has said "no such series" alone.
func TestErrorsNameThePath(t *testing.T) {
	s, ctx := open(t), t.Context()
	_, lookup := s.Lookup("no/thing")
	_, info := s.Info(ctx, "no/thing")
	for what, err := range map[string]error{
		"Lookup": lookup, "Info": info, "Drop": s.Drop(ctx, "no/thing"), "Rename": s.Rename(ctx, "no/thing", "x"),
	} {
		if !errors.Is(err, engine.ErrNotFound) || strings.Count(err.Error(), `"no/thing"`) != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPathsAreAsTheStoreCallsThem: Create made a/b of a//b and of /a/b, without a word.
func TestPathsAreAsTheStoreCallsThem(t *testing.T) {
	s, ctx := open(t), t.Context()
	d, err := engine.Gauge("v")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(ctx, engine.Spec{Path: "a/b", Definition: d}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"c//d", "/c/d", "c/d/", "c/./d", "c/x/../d", "a//b"} {
		_, create := s.Create(ctx, engine.Spec{Path: path, Definition: d})
		_, get := s.GetOrCreate(ctx, engine.Spec{Path: path, Definition: d})
		for what, err := range map[string]error{"Create": create, "GetOrCreate": get, "Rename": s.Rename(ctx, "a/b", path)} {
			if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), strconv.Quote(path)) {
				t.Errorf("%s of %q: %v", what, path, err)
			}
		}
	}
}

// TestHeldSamplesAreNotSeenYet: with Options.Reorder the newest samples are durable and show in no
// read, as the pages say.
func TestHeldSamplesAreNotSeenYet(t *testing.T) {
	s, err := engine.Open(t.TempDir(), engine.Options{Reorder: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	d, err := engine.Define(10*time.Second, "10s for 1h", "DS:v:GAUGE:20:U:U")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1_700_000_000, 0)
	ref, err := s.Create(t.Context(), engine.Spec{Path: "a", Definition: d, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 0, 10} { // seconds after start
		var b engine.Batch
		b.Add(ref, start.Add(time.Duration(10*(i+1))*time.Second), engine.Float(1))
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		info, err := s.Info(t.Context(), "a")
		if err != nil || !info.LastUpdate.Equal(start.Add(time.Duration(want)*time.Second)) {
			t.Errorf("after sample %d the last update is %v, %v, want %d s after the start", i, info.LastUpdate, err, want)
		}
	}
}

// TestCountersLoseTheFraction: COUNTER takes the integer part of a Float, as its comment says.
func TestCountersLoseTheFraction(t *testing.T) {
	s, ctx := open(t), t.Context()
	d, err := engine.Define(10*time.Second, "10s for 1h", "DS:v:COUNTER:20:U:U")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1_700_000_000, 0)
	ref, err := s.Create(ctx, engine.Spec{Path: "a", Definition: d, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	var b engine.Batch
	b.Add(ref, start.Add(10*time.Second), engine.Float(100.9))
	b.Add(ref, start.Add(20*time.Second), engine.Float(120.1))
	if err := s.Append(ctx, &b); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Fetch(ctx, ref, engine.Query{From: start.Add(10 * time.Second), To: start.Add(20 * time.Second)})
	if err != nil || rows.Values[0] != 2 {
		t.Errorf("got %v, %v, want a rate of (120-100)/10", rows.Values, err)
	}
}
