package core

import (
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// A definition that the catalogue knows was decoded and compiled anew for each series that brought
// a copy of its own.
func TestKnownDefinitionIsNotCompiled(t *testing.T) {
	s, ref := storeOfOne(t, 1<<30, 100)
	x, err := s.Series(ref)
	if err != nil {
		t.Fatal(err)
	}
	own, other := *x.Definition, *x.Definition
	defs := admitting{cat: &s.catalogue}
	defs.admit(&own)
	if got := testing.AllocsPerRun(100, func() {
		for _, d := range []*rra.Definition{&other, &own} {
			if got := defs.admit(d); got.m.Definition() != x.Definition || got.err != nil || got.code != string(defs.code) {
				t.Error("another machine", got.err)
			}
		}
	}); got > 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	own.Archives = append([]rra.Archive(nil), own.Archives...)
	own.Archives[0].Rows++
	defs = admitting{cat: &s.catalogue}
	if got := defs.admit(&own); got.err != nil || got.m.Definition() == x.Definition || got.m.Definition().Archives[0].Rows != own.Archives[0].Rows {
		t.Error("the machine of another definition", got.err)
	}
}
