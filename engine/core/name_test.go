package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/rra"
)

// badNames are what no name may hold.
var badNames = map[string]string{
	"line feed": "a\n0 errors, enqueued 99 value(s).", "escape": "a\x1b[31m", "bell": "a\a", "tab": "a\tb", "DEL": "a\x7f", "C1": "a\u0085b",
	"line separator": "a\u2028b", "no UTF-8": "a\xffb", "half a character": "a/\xc3", "zero byte": "a\x00b", "surrogate": "a\xed\xa0\x80",
}

// TestBadNamesAreRefused: whatever way a name comes into a store, one that is no UTF-8 or holds a
// control character is refused as the caller's mistake, with an error that can itself be printed,
// and nothing of it is stored.
func TestBadNamesAreRefused(t *testing.T) {
	s := enginetest.Open(t)
	ctx := t.Context()
	d, err := rra.ParseDefinition(10, []string{"DS:x:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	spec := core.Spec{Path: "good", Definition: d, Start: rra.Seconds(1_000_000_000)}
	ref, err := s.Create(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := s.Export(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	one := func(out []error, err error) error { return errors.Join(append(out, err)...) }
	ways := map[string]func(ctx context.Context, bad string) error{
		"create": func(ctx context.Context, bad string) error {
			sp := spec
			sp.Path = bad
			_, err := s.Create(ctx, sp)
			return err
		},
		"create, label's name": func(ctx context.Context, bad string) error {
			sp := spec
			sp.Path, sp.Labels = "new", []core.Label{{Name: bad, Value: "v"}}
			_, err := s.Create(ctx, sp)
			return err
		},
		"create, label's value": func(ctx context.Context, bad string) error {
			sp := spec
			sp.Path, sp.Labels = "new", []core.Label{{Name: "n", Value: bad}}
			_, err := s.Create(ctx, sp)
			return err
		},
		"create, data source": func(ctx context.Context, bad string) error {
			sp := spec
			copied := *d
			copied.Sources = append([]rra.DataSource(nil), d.Sources...)
			copied.Sources[0].Name = bad
			sp.Path, sp.Definition = "new", &copied
			_, err := s.Create(ctx, sp)
			return err
		},
		"import": func(ctx context.Context, bad string) error {
			c := whole
			c.Path = bad
			made, err := s.Import(ctx, []core.Copy{c}, false)
			if err != nil {
				return err
			}
			return made[0].Err
		},
		"rename": func(ctx context.Context, bad string) error { return s.Rename(ctx, "good", bad) },
		"relabel": func(ctx context.Context, bad string) error {
			return one(s.Relabel(ctx, []core.PathLabels{{Path: "good", Labels: []core.Label{{Name: bad, Value: bad}}}}))
		},
		"metadata": func(ctx context.Context, bad string) error {
			return one(s.SetMetadata(ctx, []core.PathMetadata{{Path: bad, Metadata: core.Metadata{Text: "x"}}}))
		},
		"attribute": func(ctx context.Context, bad string) error {
			return one(s.SetMetadata(ctx, []core.PathMetadata{{Path: "good", Metadata: core.Metadata{Attributes: []core.Label{{Name: bad, Value: "x"}}}}}))
		},
		"note": func(ctx context.Context, bad string) error { return s.AddNote(ctx, bad, core.Note{Text: "x"}) },
		"note's label": func(ctx context.Context, bad string) error {
			return s.AddNote(ctx, "good", core.Note{Labels: []core.Label{{Name: "host", Value: bad}}})
		},
	}
	for way, enter := range ways {
		for kind, bad := range badNames {
			if way == "create, label's value" && text.CheckLines(bad) == nil {
				continue // a value may have several lines
			}
			t.Run(way+"/"+kind, func(t *testing.T) {
				err := enter(t.Context(), bad)
				if !errors.Is(err, core.ErrInvalid) {
					t.Fatalf("got %v, want ErrInvalid", err)
				}
				if strings.Contains(err.Error(), bad) {
					t.Errorf("the error is not printable: %q", err)
				}
			})
		}
	}
	for series, err := range s.Select(ctx, core.Query{Order: core.ByPath}) {
		if err != nil || series.Path != "good" || len(series.Labels) > 0 {
			t.Errorf("stored: %q %q, %v", series.Path, series.Labels, err)
		}
	}
	if notes, err := s.Notes(ctx, ""); err != nil || len(notes) > 0 {
		t.Errorf("notes: %v, %v", notes, err)
	}
}

// TestTextsAreUTF8: texts may have several lines, but what a message cannot carry is refused.
func TestTextsAreUTF8(t *testing.T) {
	s := enginetest.Open(t)
	ctx := t.Context()
	set := func(m core.Metadata) error {
		out, err := s.SetMetadata(ctx, []core.PathMetadata{{Path: "p", Metadata: m}})
		return errors.Join(append(out, err)...)
	}
	if err := set(core.Metadata{Text: "two\nlines", Attributes: []core.Label{{Name: "description", Value: "and\ntwo"}}}); err != nil {
		t.Error(err)
	}
	if err := s.AddNote(ctx, "p", core.Note{Text: "two\nlines"}); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"text":        set(core.Metadata{Text: "\xff"}),
		"attribute":   set(core.Metadata{Attributes: []core.Label{{Name: "units", Value: "\xff"}}}),
		"note's text": s.AddNote(ctx, "p", core.Note{Text: "\xff"}),
		"severity":    s.AddNote(ctx, "p", core.Note{Severity: "\xff"}),
	} {
		if !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}

// TestHiddenCharactersInNames: a new name cannot look like another one by characters that nobody
// sees, or that turn others round. A name that an older version has stored so can be used until it
// is renamed or dropped.
func TestHiddenCharactersInNames(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	d, err := rra.ParseDefinition(10, []string{"DS:x:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	good := core.Spec{Path: "good", Definition: d, Start: rra.Seconds(1_000_000_000)}
	ref, err := s.Create(ctx, good)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := s.Export(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	old := []string{"a/\u202edrr.b", "a/\u200bb", "a/b\ufeff", "a/\u2066b\u2069", "a/\u00adb", "a/\U000e0041b"}
	for _, bad := range old {
		spec, labelled, c := good, good, whole
		spec.Path, labelled.Path, labelled.Labels, c.Path = bad, "new", []core.Label{{Name: "n", Value: bad}}, bad
		_, made := s.Create(ctx, spec)
		_, named := s.Create(ctx, labelled)
		out, err := s.Import(ctx, []core.Copy{c}, false)
		if err != nil {
			t.Fatal(err)
		}
		for way, err := range map[string]error{"create": made, "label": named, "import": out[0].Err, "rename": s.Rename(ctx, "good", bad)} {
			if !errors.Is(err, core.ErrInvalid) || strings.Contains(err.Error(), bad) {
				t.Errorf("%s %q: %v", way, bad, err)
			}
		}
		c.Labels = labelled.Labels
		if one, err := s.ImportOld(ctx, c); err != nil || one.Err != nil {
			t.Fatal(err, one.Err)
		}
	}
	mustClose(t, s.Close())
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	defer func() { mustClose(t, s.Close()) }()
	for i, bad := range old {
		ref, err := s.Lookup(bad)
		if err != nil {
			t.Fatalf("look up %q: %v", bad, err)
		}
		var b core.Batch
		b.Add(ref, rra.Seconds(1_000_000_010), rra.Int(1))
		if err := s.Append(ctx, &b); err != nil {
			t.Errorf("update %q: %v", bad, err)
		}
		if _, err := s.Alter(ctx, bad, func(c core.Copy) (core.Copy, error) { return c, nil }); err != nil {
			t.Errorf("alter %q: %v", bad, err)
		}
		if i%2 == 0 {
			err = s.Rename(ctx, bad, "renamed/"+string(rune('a'+i)))
		} else {
			err = core.Drop(ctx, s, bad)
		}
		if err != nil {
			t.Errorf("take %q away: %v", bad, err)
		}
	}
}
