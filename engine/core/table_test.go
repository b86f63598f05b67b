package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// Lists between many changes, some of them in the database, yield what there is: pages as well, and
// while memory has more names than a list reads at a time.
func TestListsBetweenChanges(t *testing.T) {
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{NoBackground: true})
	r := seedtest.Rand(t)
	d := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	want := make(bruteCatalogue)
	path := func() string { return fmt.Sprintf("%c/%d.rrd", 'a'+rune(r.IntN(3)), r.IntN(20_000)) }
	key := func(path string) string { return path[:len(path)-len(".rrd")] }
	var made []string // some of them were dropped or renamed since
	// Every round makes some hundreds more than it drops: the loop finds one.
	known := func() string {
		for {
			if p := pick(r, made...); want[key(p)].Ref != 0 {
				return p
			}
		}
	}
	for round := range 12 {
		var specs []core.Spec
		for range 700 + r.IntN(800) {
			specs = append(specs, core.Spec{Path: path(), Definition: d, Start: rra.Seconds(1000)})
		}
		out, err := s.CreateBatch(t.Context(), specs)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range out {
			if x.Err == nil {
				want[key(specs[i].Path)] = core.Series{Ref: x.Ref, Path: specs[i].Path}
				made = append(made, specs[i].Path)
			}
		}
		for range r.IntN(200) {
			p := known()
			if err := core.Drop(t.Context(), s, p); err != nil {
				t.Fatal(err)
			}
			delete(want, key(p))
		}
		for range r.IntN(200) {
			from, to := known(), path()
			x, taken := want[key(from)], want[key(to)].Ref != 0
			if err := s.Rename(t.Context(), from, to); (err != nil) != taken {
				t.Fatalf("rename %s to %s, which is taken: %v: %v", from, to, taken, err)
			}
			if !taken {
				delete(want, key(from))
				made = append(made, to)
				want[key(to)] = core.Series{Ref: x.Ref, Path: to}
			}
		}
		if round%4 == 2 {
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, prefix := range []string{"", "b", "b/", "b/1", "c/19999.rrd", "d", known()} {
			for _, after := range []string{"", "a/5", "b", key(known()), "zz"} {
				got := paths(t, s.Select(t.Context(), core.Query{Prefix: prefix, After: after, Order: core.ByPath}))
				if w := want.list(prefix, after); !slices.Equal(got, w) {
					t.Fatalf("round %d: list of %q behind %q has %d paths, want %d", round, prefix, after, len(got), len(w))
				}
			}
		}
		for x, err := range s.Select(t.Context(), core.Query{Order: core.ByPath}) {
			if err != nil || x.Ref != want[key(x.Path)].Ref {
				t.Fatalf("%s has reference %d, want %d, error %v", x.Path, x.Ref, want[key(x.Path)].Ref, err)
			}
		}
	}
}
