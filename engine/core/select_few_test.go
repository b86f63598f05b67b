package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// TestFewSeriesOfACommonLabel: a label that most series carry was read to its end, also where
// another matcher leaves but a few of them.
func TestFewSeriesOfACommonLabel(t *testing.T) {
	ctx := t.Context()
	s := enginetest.Open(t)
	d := definition(t, "DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:10")
	const groups = 128
	var specs []core.Spec
	for size := 1; len(specs) < groups*size; {
		i := len(specs)
		host := fmt.Sprintf("h%05d", i/4)
		specs = append(specs, core.Spec{Path: "p/" + host + fmt.Sprintf("/%d", i), Definition: d, Start: rra.Seconds(programStart), Labels: []core.Label{
			{Name: "host", Value: host}, {Name: "job", Value: "all"}, {Name: "name", Value: "x"},
		}})
		if i == 0 {
			made, err := s.CreateBatch(ctx, specs)
			if err != nil || made[0].Err != nil {
				t.Fatal(err, made)
			}
			size = s.GroupSize(made[0].Ref)
		}
	}
	if _, err := s.CreateBatch(ctx, specs[1:]); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	common := []core.Matcher{matching(t, core.MatchEqual, "name", "x"), matching(t, core.MatchNotEqual, "job", "")}
	for name, c := range map[string]struct {
		m    core.Matcher
		want []string // hosts
	}{
		"values":  {matching(t, core.MatchRegexp, "host", "h00010|h00900"), []string{"h00010", "h00900"}},
		"prefix":  {matching(t, core.MatchRegexp, "host", "h0001[12]"), []string{"h00011", "h00012"}},
		"folders": {core.Below("p/h00007", "p/none"), []string{"h00007"}},
		"nothing": {matching(t, core.MatchRegexp, "host", "none.*"), nil},
	} {
		ms := append(slices.Clone(common), c.m)
		var hosts []string // of the series found
		for x, err := range s.Select(ctx, core.Query{Matchers: ms, Order: core.ByRef}) {
			if err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, x.Labels[0].Value)
		}
		if len(hosts) != 4*len(c.want) || !slices.Equal(slices.Compact(hosts), c.want) {
			t.Errorf("%s: series of %v, want four each of %v", name, hosts, c.want)
		}
		if n, err := s.EntriesRead(ctx, ms); err != nil || n > groups {
			t.Errorf("%s: %d entries of the index are read, %v; the common labels have %d each", name, n, err, groups)
		}
	}
	// Where every matcher leaves many, the result is as before.
	found, err := core.Refs(ctx, s, append(common, matching(t, core.MatchRegexp, "host", "h0.*")))
	if err != nil || len(found) != len(specs) {
		t.Errorf("%d series, %v; want %d", len(found), err, len(specs))
	}
}

func matching(t *testing.T, op core.MatchOp, name, value string) core.Matcher {
	t.Helper()
	m, err := core.NewMatcher(op, name, value)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
