package rpc_test

import (
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// TestInfoTellsTheBandOfFailures: how far values may be from the prediction stands in no definition,
// and a page that draws the band took rrdtool's default of 2 for it.
func TestInfoTellsTheBandOfFailures(t *testing.T) {
	store, url := serve(t)
	c := client(t, url, false)
	d, err := rra.ParseDefinition(300, []string{"DS:v:GAUGE:600:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:HWPREDICT:100:0.1:0.01:10"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Archives {
		if a := &d.Archives[i]; a.CF == rra.Failures {
			a.DeltaPos, a.DeltaNeg = 3, 0.5
		}
	}
	if _, err := store.Create(t.Context(), core.Spec{Path: "hw", Definition: d}); err != nil {
		t.Fatal(err)
	}
	r, err := c.Info(t.Context(), &rondov1.InfoRequest{Path: "hw"})
	if err != nil {
		t.Fatal(err)
	}
	got := r.GetArchives()
	if len(got) != len(d.Archives) {
		t.Fatalf("%d archives, %d of them told", len(d.Archives), len(got))
	}
	for i := range d.Archives {
		a := &d.Archives[i]
		if got[i].GetDeltaPos() != a.DeltaPos || got[i].GetDeltaNeg() != a.DeltaNeg {
			t.Errorf("%s: %v, want %v and %v", a.CF, got[i], a.DeltaPos, a.DeltaNeg)
		}
	}
}
