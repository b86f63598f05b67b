package core_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

func gaugeDefinition(t testing.TB) *rra.Definition {
	t.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:value:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:360"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// specsOf are series of the paths, with their path as a label.
func specsOf(d *rra.Definition, paths ...string) (specs []core.Spec) {
	for _, p := range paths {
		specs = append(specs, core.Spec{Path: p, Definition: d, Labels: []core.Label{{Name: "path", Value: p}}})
	}
	return specs
}

// TestNameComesBackAfterManyChanges renames a series and renames it back, with so many changes in
// between that a checkpoint takes several transactions. In between, the name means what the log
// says last.
func TestNameComesBackAfterManyChanges(t *testing.T) {
	dir := t.TempDir()
	d := gaugeDefinition(t)
	var s *core.Store
	var ref core.Ref
	parts, armed := 0, false
	look := func(when string) {
		t.Helper()
		if got, err := s.Lookup("first"); err != nil || got != ref {
			t.Errorf("%s: the first name leads to %d, %v; want %d", when, got, err, ref)
		}
		if _, err := s.Lookup("second"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s: the second name: %v", when, err)
		}
	}
	s = mustOpen(t, dir, core.Options{NoBackground: true}.WithHook(func(at string) {
		if armed && at == "checkpoint-catalogue-part" {
			parts++
			look(fmt.Sprint("part ", parts))
		}
	}))
	ref = mustCreate(t, s, "first", d)
	if err := s.Rename(t.Context(), "first", "second"); err != nil {
		t.Fatal(err)
	}
	const many = 20_000 // more than a transaction takes
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprintf("other/%05d", many-i)
	}
	out, err := s.CreateBatch(t.Context(), specsOf(d, names...))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(t.Context(), "second", "first"); err != nil {
		t.Fatal(err)
	}
	armed = true
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if parts == 0 {
		t.Error("the checkpoint took one transaction")
	}
	look("after the checkpoint")
	for i := 0; i < many; i += 997 {
		if got, err := s.Lookup(names[i]); err != nil || got != out[i].Ref {
			t.Errorf("%s leads to %d, %v; want %d", names[i], got, err, out[i].Ref)
		}
	}
	mustClose(t, s.Close())
}

// TestCreateBatchWithNamesThatChange makes series; some have the name of another, one before it in
// the batch or one that is in the database.
func TestCreateBatchWithNamesThatChange(t *testing.T) {
	for name, reopen := range map[string]bool{"checkpoint": false, "replay": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := gaugeDefinition(t)
			s := mustOpen(t, dir, core.Options{NoBackground: true})
			stored := mustCreate(t, s, "stored", d, core.Label{Name: "path", Value: "stored"})
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			specs := specsOf(d, "a", "b", "a.rrd", "a", "stored", "c", "a", "stored")
			specs[3].Overwrite, specs[6].Overwrite, specs[7].Overwrite = true, true, true
			out, err := s.CreateBatch(t.Context(), specs)
			if err != nil {
				t.Fatal(err)
			}
			for i, ref := range map[int]core.Ref{2: out[0].Ref, 4: stored} {
				if !errors.Is(out[i].Err, core.ErrExists) || out[i].Ref != ref {
					t.Errorf("spec %d: %+v, want ErrExists with %d", i, out[i], ref)
				}
			}
			if reopen {
				mustClose(t, s.Abandon())
				s = mustOpen(t, dir, core.Options{NoBackground: true})
			} else if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			for p, i := range map[string]int{"a": 6, "b": 1, "c": 5, "stored": 7} {
				if out[i].Err != nil {
					t.Errorf("%s: %v", p, out[i].Err)
				}
				if got, err := s.Lookup(p); err != nil || got != out[i].Ref {
					t.Errorf("%s leads to %d, %v; want %d", p, got, err, out[i].Ref)
				}
				found := paths(t, s.Select(t.Context(), core.Query{Matchers: []core.Matcher{{Name: "path", Op: core.MatchEqual, Value: p}}, Order: core.ByRef}))
				if len(found) != 1 || found[0] != p {
					t.Errorf("the label %s selects %q", p, found)
				}
			}
			if n := s.Stats().Series; n != 4 {
				t.Errorf("%d series, want 4", n)
			}
			mustClose(t, s.Close())
		})
	}
}

// TestSeriesOfABatchBeginAsSingleOnes makes series in one batch, and the same ones by one in
// another store. Their definitions and starts change now and then.
func TestSeriesOfABatchBeginAsSingleOnes(t *testing.T) {
	var definitions []*rra.Definition
	for _, lines := range [][]string{
		{"DS:value:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:360"},
		{"DS:other:GAUGE:30:0:U", "RRA:AVERAGE:0.2:1:360"}, // of the class of the first
		{"DS:value:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:360", "RRA:HWPREDICT:720:0.1:0.0035:144"},
		{"DS:in:COUNTER:20:U:U", "DS:out:DCOUNTER:20:U:U", "RRA:AVERAGE:0.5:1:360", "RRA:MAX:0.5:6:100"},
	} {
		d, err := rra.ParseDefinition(10, lines)
		if err != nil {
			t.Fatal(err)
		}
		definitions = append(definitions, d)
	}
	var specs []core.Spec
	for i := range 700 {
		specs = append(specs, core.Spec{
			Path: fmt.Sprintf("s%03d", i), Definition: definitions[i/15%len(definitions)], Start: rra.Seconds(int64(1_000_000_000 + i/10)),
		})
	}
	together := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	if _, err := together.CreateBatch(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	single := mustOpen(t, t.TempDir(), core.Options{NoBackground: true, Sync: wal.SyncNone})
	for _, spec := range specs {
		if _, err := single.Create(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	sameDigest(t, "together", mustDigest(t, together), mustDigest(t, single))
	mustClose(t, together.Close())
	mustClose(t, single.Close())
}
