package router_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

var firstSeed = flag.Uint64("seed", 1, "the seed of random programs")

// The same calls of one store and of a router over several stores have the same answers, errors and
// order.
func TestRouterAnswersAsOneStore(t *testing.T) {
	t.Parallel()
	reached := make(map[string]int)
	for _, n := range []int{1, 3, 16} {
		for name, o := range map[string]core.Options{
			"plain": {}, "limit": {MaxSeries: 12}, "reorder": {Reorder: 5 * time.Second},
		} {
			t.Run(fmt.Sprintf("partitions=%d/%s", n, name), func(t *testing.T) {
				t.Logf("seed %d", *firstSeed)
				newProgram(t, *firstSeed, n, o, reached).run(600)
			})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(reached)) {
		t.Logf("%6d %s", reached[k], k)
	}
}
