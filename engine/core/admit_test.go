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
	own := *x.Definition
	code := appendDefinition(nil, &own)
	most := testing.AllocsPerRun(100, func() { _ = string(appendDefinition(nil, &own)) })
	got := testing.AllocsPerRun(100, func() {
		if m, c, err := s.catalogue.admitDefinition(&own); err != nil || c != string(code) || m.Definition() != x.Definition {
			t.Error("another machine", err)
		}
	})
	if got > most {
		t.Errorf("%v allocations, want %v, for the code alone", got, most)
	}
	own.Archives = append([]rra.Archive(nil), own.Archives...)
	own.Archives[0].Rows++
	if m, _, err := s.catalogue.admitDefinition(&own); err != nil || m.Definition() == x.Definition || m.Definition().Archives[0].Rows != own.Archives[0].Rows {
		t.Error("the machine of another definition", err)
	}
}
