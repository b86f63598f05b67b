package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// TestWrongCallsAreErrInvalid: an error that the caller has made was not distinguished from one of
// the store.
func TestWrongCallsAreErrInvalid(t *testing.T) {
	store := enginetest.Open(t)
	d, err := rra.ParseDefinition(10, []string{"DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	const good = "good"
	if _, err := store.Create(t.Context(), core.Spec{Path: good, Definition: d}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 5000)
	create := func(s core.Spec) error {
		if s.Definition == nil {
			s.Definition = d
		}
		_, err := store.Create(t.Context(), s)
		return err
	}
	metadata := func(m core.Metadata) error {
		errs, err := store.SetMetadata(t.Context(), []core.PathMetadata{{Path: good, Metadata: m}})
		if err != nil {
			return err
		}
		return errs[0]
	}
	lookup := func(path string) error { _, err := store.Lookup(path); return err }
	fetch := func(archive int, start, end int64) error {
		ref, err := store.Lookup(good)
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Fetch(t.Context(), ref, archive, start, end)
		return err
	}
	for name, err := range map[string]error{
		"create ..":          create(core.Spec{Path: ".."}),
		"create .":           create(core.Spec{Path: "."}),
		"create /":           create(core.Spec{Path: "/"}),
		"create .rrd":        create(core.Spec{Path: ".rrd"}),
		"create NUL":         create(core.Spec{Path: "a\x00b"}),
		"create long":        create(core.Spec{Path: long}),
		"create label twice": create(core.Spec{Path: "a", Labels: []core.Label{{Name: "x", Value: "1"}, {Name: "x", Value: "2"}}}),
		"create label long":  create(core.Spec{Path: "a", Labels: []core.Label{{Name: "x", Value: long}}}),
		"create start":       create(core.Spec{Path: "a", Start: 1 << 62}),
		"create no archive":  create(core.Spec{Path: "a", Definition: &rra.Definition{Step: 10}}),
		"drop ..":            core.Drop(t.Context(), store, ".."),
		"rename from ..":     store.Rename(t.Context(), "..", "b"),
		"rename to ..":       store.Rename(t.Context(), good, ".."),
		"look up ..":         lookup(".."),
		"metadata":           metadata(core.Metadata{Text: strings.Repeat("x", 1<<20)}),
		"note":               store.AddNote(t.Context(), "k", core.Note{Text: strings.Repeat("x", 1<<20)}),
		"fetch archive":      fetch(7, 0, 10),
		"fetch range":        fetch(0, 0, 1<<40),
	} {
		if !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: got %v, want an error that is ErrInvalid", name, err)
		} else if n := len(err.Error()); n > 400 {
			t.Errorf("%s: an error of %d bytes", name, n)
		}
	}
	if err := create(core.Spec{Path: good}); errors.Is(err, core.ErrInvalid) || !errors.Is(err, core.ErrExists) {
		t.Errorf("create again: got %v, want ErrExists alone", err)
	}
}
