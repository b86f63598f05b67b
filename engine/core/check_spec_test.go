package core_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// Expired metadata stayed while as many paths had metadata as there may be series.
func TestMetadataExpiresAtTheLimit(t *testing.T) {
	ctx := t.Context()
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{MaxSeries: 1})
	m := core.PathMetadata{Path: "a", Metadata: core.Metadata{Time: 1, Text: "one"}}
	if out, err := s.SetMetadata(ctx, []core.PathMetadata{m}); err != nil || out[0] != nil {
		t.Fatal(out, err)
	}
	m.Expires = true
	if out, err := s.SetMetadata(ctx, []core.PathMetadata{m, {Path: "b", Expires: true}}); err != nil || errors.Join(out...) != nil {
		t.Error(out, err)
	}
	if got, err := s.Metadata("a"); err != nil || got.Text != "" {
		t.Errorf("metadata %+v, %v", got, err)
	}
}

// A value that refers to a text which is not there must not become another text of the part.
func TestSplitBatchKeepsTextsThatAreMissing(t *testing.T) {
	var b, part core.Batch
	b.AddText(1, 1, []rra.Value{rra.Text(0)}, []string{"1"})
	b.Add(1, 2, rra.Text(7))
	b.AddText(1, 3, []rra.Value{rra.Text(0)}, []string{"3"})
	b.Follow()
	b.Split(func(_ int, ref core.Ref) (*core.Batch, core.Ref) { return &part, ref + 1 })
	var got []string
	for x := range part.All() {
		if i := x.Values[0].Bits; i < uint64(len(x.Texts)) {
			got = append(got, x.Texts[i])
		} else {
			got = append(got, "missing")
		}
	}
	if want := []string{"1", "missing", "3"}; !slices.Equal(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
	if part.Follows(1) || !part.Follows(2) || !b.Follows(2) {
		t.Error("samples do not follow as they did")
	}
}

// Check refuses what Create refuses.
func TestSpecCheckRefusesWhatCreateRefuses(t *testing.T) {
	s := enginetest.Open(t)
	d := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	for _, x := range []core.Spec{
		{Path: "a", Definition: d},
		{Path: "..", Definition: d},
		{Path: "b"},
		{Path: "c", Definition: &rra.Definition{Step: 10}},
		{Path: "d", Definition: d, Labels: []core.Label{{Name: "x"}, {Name: "x"}}},
		{Path: "e", Definition: d, Start: core.MaxTime + 1},
	} {
		err := x.Check()
		_, want := s.Create(t.Context(), x)
		if (err == nil) != (want == nil) || errors.Is(err, core.ErrInvalid) != errors.Is(want, core.ErrInvalid) {
			t.Errorf("check of %q: %v, create: %v", x.Path, err, want)
		}
	}
}
