//go:build !unix

package memory

// mapPages returns n zeroed bytes of the heap.
func mapPages(n int) (b []byte, mapped bool) { return make([]byte, n), false }

func unmapPages([]byte) {}

// dropPages does nothing here: the pages of b stay for the next block of the same size.
func dropPages([]byte) {}
