package graphite

import (
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/receivers"
)

// TestMadeUpNamesTakeNoMemory: names that never get a series do not make the cache large.
func TestMadeUpNamesTakeNoMemory(t *testing.T) {
	c := newCache(cacheEntries)
	c.set([]byte("good"), receivers.Series{Ref: 1})
	for i := range 1_000_000 {
		c.set(fmt.Appendf(nil, "made.up.name.of.some.length.%d", i), receivers.Series{Why: 1, Retry: 1 << 30})
	}
	if n, most := c.Len(), maxAbsent/entryBytes; n > most {
		t.Errorf("%d entries, want at most %d", n, most)
	}
	if c.refs != 0 {
		t.Errorf("%d series after all was forgotten", c.refs)
	}
}
