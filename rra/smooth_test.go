package rra

import "testing"

// TestNameHash: the rows at which rrdtool 1.7.2 said it would smooth a season of 1000003 (dump,
// seasonal_smooth_idx).
func TestNameHash(t *testing.T) {
	for name, want := range map[string]uint64{"a": 643071, "abc": 679578, "h.rrd": 632698, "p8.rrd": 950511, "x/abc.rrd": 435260} {
		if got := NameHash(name) % 1000003; got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
