// Package abreast calls a function for many things, several at the same time.
package abreast

import (
	"sync"
	"sync/atomic"
)

// Each calls fn with the numbers from 0 to n-1, at most some at a time, and returns when all calls
// have returned. One call alone is made by the caller's goroutine.
func Each(n, most int, fn func(i int)) {
	if n == 1 {
		fn(0)
		return
	}
	var all sync.WaitGroup
	var next atomic.Int64
	for range min(n, most) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	all.Wait()
}
