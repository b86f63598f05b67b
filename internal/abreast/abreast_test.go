package abreast_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/internal/abreast"
)

func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 3, 10} {
			calls := make([]atomic.Int32, n)
			var now, most atomic.Int32
			abreast.Each(n, 3, func(i int) {
				calls[i].Add(1)
				at := now.Add(1)
				for was := most.Load(); was < at && !most.CompareAndSwap(was, at); was = most.Load() {
				}
				time.Sleep(time.Second)
				now.Add(-1)
			})
			for i := range calls {
				if got := calls[i].Load(); got != 1 {
					t.Errorf("%d numbers: %d calls for %d", n, got, i)
				}
			}
			if got := most.Load(); int(got) != min(n, 3) {
				t.Errorf("%d numbers: %d calls at a time", n, got)
			}
		}
	})
}
