package peer_test

import (
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// TestLastsOfManySeries: the times are Last's, in order; a series that is not there has none.
func TestLastsOfManySeries(t *testing.T) {
	s := enginetest.Open(t)
	var refs []core.Ref
	var b core.Batch
	for i := range 300 {
		ref := gauge(t, s, fmt.Sprint("series/", i))
		b.Add(ref, rra.Seconds(2000+int64(i)*10), rra.Float(1))
		refs = append(refs, ref)
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if err := core.Drop(t.Context(), s, "series/7"); err != nil {
		t.Fatal(err)
	}
	c := partition(t, serve(t, of(s)).URL, peer.Options{})
	for _, e := range []core.Engine{s, c} {
		got, err := e.Lasts(t.Context(), refs)
		if err != nil || len(got) != len(refs) {
			t.Fatalf("%T: %d times, %v", e, len(got), err)
		}
		for i, x := range got {
			if x.There != (i != 7) || x.There && x.Time != rra.Seconds(2000+int64(i)*10) {
				t.Errorf("%T: series %d: got %+v", e, i, x)
			}
		}
	}
}
