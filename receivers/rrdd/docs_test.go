package rrdd

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// TestPage decodes the examples of the page.
func TestPage(t *testing.T) {
	for version, b := range map[int][]byte{1: receivertest.Examples(t, "../../docs/wire/rrdd.md")["version-1"], 2: receivertest.Examples(t, "../../docs/wire/rrdd.md")["version-2"]} {
		got, err := Decode(b)
		if err != nil {
			t.Errorf("version %d: %v", version, err)
			continue
		}
		want := &File{
			Version: version, Timestamp: 1700000000.5,
			Sources: []Source{{Name: "temp", Type: Gauge, Min: math.Inf(-1), Max: math.Inf(1)}}, Values: []rra.Value{rra.Float(21.5)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
}
