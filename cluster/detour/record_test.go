package detour

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// TestRecord parses what was packed, and notices every record that was cut.
func TestRecord(t *testing.T) {
	definition := &rra.Definition{
		Step:     10,
		Sources:  []rra.DataSource{{Name: "a", Kind: rra.Counter, Heartbeat: 20, Max: math.Inf(1)}},
		Archives: []rra.Archive{{CF: rra.Max, XFF: 0.5, PDPs: 6, Rows: 100}},
	}
	want := []Sample{
		{Path: "a", At: -5, Values: []rra.Value{rra.Unknown, rra.Int(-7), rra.Uint(math.MaxUint64)}},
		{
			Path: "b/ä", At: rra.Seconds(1e9), Values: []rra.Value{rra.Text(0), rra.Float(0.1), rra.Text(1)}, Texts: []string{"1e5", ""},
			Make: &core.Spec{Path: "b/ä", Labels: []core.Label{{Name: "x", Value: "y"}}, Definition: definition, Start: 5, SmoothHash: 1 << 63},
		},
		{Path: "", At: 0},
	}
	rec := appendHead(nil, 123456789)
	ends := []int{len(rec)}
	for i := range want {
		rec = appendSample(rec, &want[i], want[i].Make != nil)
		ends = append(ends, len(rec))
	}
	var got []Sample
	at, err := parseRecord(rec, func(s Sample) { got = append(got, s) })
	if diff := cmp.Diff(want, got); err != nil || at != 123456789 || diff != "" {
		t.Errorf("time %d, %v, and the difference is:\n%s", at, err, diff)
	}
	whole := 0
	for n := range rec {
		got := 0
		_, err := parseRecord(rec[:n], func(Sample) { got++ })
		for whole+1 < len(ends) && ends[whole+1] <= n {
			whole++
		}
		if cut := n != ends[whole]; cut != (err != nil) || got != whole {
			t.Errorf("%d of %d bytes: got %d samples, %v, want %d", n, len(rec), got, err, whole)
		}
	}
}
