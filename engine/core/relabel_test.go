package core_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// The last labels of a path stay, also when they are those that the series had before the call.
func TestRelabelTwiceInOneCall(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	label := func(values ...string) (out []core.Label) {
		for _, v := range values {
			out = append(out, core.Label{Name: "l", Value: v})
		}
		return out
	}
	ref, err := s.Create(t.Context(), core.Spec{Path: "a", Definition: testDefinition(t), Start: rra.Seconds(programStart)})
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range [][]string{{"x", ""}, {"x", "y", "x"}, {"x", "x"}, {"", "x", "x", "y", "", "x", ""}} {
		ls := []core.PathLabels{{Path: "none", Labels: label("x")}}
		var want []core.Label
		for i, v := range values {
			if want = nil; v != "" {
				want = label(v)
			}
			ls = append(ls, core.PathLabels{Path: []string{"a", "/a.rrd", "./a"}[i%3], Labels: want})
		}
		out, err := s.Relabel(t.Context(), ls)
		if err != nil || !errors.Is(out[0], core.ErrNotFound) || errors.Join(out[1:]...) != nil {
			t.Fatalf("%q: %v, %v", values, out, err)
		}
		if x, err := s.Series(ref); err != nil || !slices.Equal(x.Labels, want) {
			t.Errorf("%q: the labels are %v, %v, want %v", values, x.Labels, err, want)
		}
		mustClose(t, s.Abandon())
		s = mustOpen(t, dir, core.Options{NoBackground: true})
		if x, err := s.Series(ref); err != nil || !slices.Equal(x.Labels, want) {
			t.Errorf("%q: after a restart the labels are %v, %v, want %v", values, x.Labels, err, want)
		}
	}
	mustClose(t, s.Close())
}
