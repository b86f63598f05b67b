package sink

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// TestRollOfNewSenders: two receivers resolved one series for two senders, one of them new, and the
// process ended: the list of senders was read before the series got its number, and the number that
// it had before was of a sender that had been added in between.
func TestRollOfNewSenders(t *testing.T) {
	const rounds, receiving, senders = 3000, 4, 40
	for range rounds {
		r := new(roll)
		var all sync.WaitGroup
		for g := range receiving {
			all.Go(func() {
				for i := range senders {
					q := receivers.Request{Identity: receivers.Identity{Path: "a/b/c"}, Sender: fmt.Sprint(g, " ", i), Ref: 1}
					r.enter([]receivers.Request{q}, time.Unix(0, 0))
				}
			})
		}
		all.Wait()
		n := int64(0)
		for _, x := range r.list() {
			n += x.series.Load()
		}
		if n != 1 {
			t.Fatalf("the senders have %d series, want the one", n)
		}
	}
}
