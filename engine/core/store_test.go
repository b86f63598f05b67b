package core_test

import (
	"context"
	"math"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

func testDefinition(t testing.TB, args ...string) *rra.Definition {
	t.Helper()
	if len(args) == 0 {
		args = []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:360", "RRA:AVERAGE:0.5:6:1440", "RRA:MAX:0.5:6:1440"}
	}
	d, err := rra.ParseDefinition(10, args)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestFirstSteps(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := core.Open(dir, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.Create(ctx, core.Spec{Path: "a/b.rrd", Labels: []core.Label{{Name: "host", Value: "a"}}, Definition: testDefinition(t), Start: rra.Seconds(1_000_000_000)})
	if err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	for i := range 1000 {
		b.Reset()
		b.Add(ref, rra.Seconds(1_000_000_000+10*int64(i+1)), rra.Float(float64(i)))
		if err := s.Append(ctx, &b); err != nil {
			t.Fatal(err)
		}
		if i%300 == 299 {
			if err := s.Checkpoint(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	verify := func() {
		t.Helper()
		ref, err := s.Lookup("a/b")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := s.Fetch(ctx, ref, 0, 1_000_000_000, 1_000_010_000)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range rows.Values {
			want := float64(i)
			if i < 1000-360 {
				want = math.NaN()
			}
			if v != want && !(v != v && want != want) {
				t.Fatalf("row %d: got %v, want %v", i, v, want)
			}
		}
		if ps, err := s.Check(ctx); err != nil || len(ps) > 0 {
			t.Fatalf("check: %v %v", ps, err)
		}
	}
	verify()
	for range 3 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = core.Open(dir, core.Options{}); err != nil {
			t.Fatal(err)
		}
		verify()
		if err := s.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
		verify()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
