//go:build unix && !linux

package memory

import "golang.org/x/sys/unix"

// mapPages returns n zeroed bytes of anonymous memory; mapped is false if they lie on the heap,
// because the system gave none.
func mapPages(n int) (b []byte, mapped bool) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n), false // the heap reports what is wrong
	}
	return b, true
}

// unmapPages unmaps a piece that mapPages has mapped.
func unmapPages(b []byte) { _ = unix.Munmap(b) }

// dropPages does nothing here: the pages of b stay for the next block of the same size.
func dropPages([]byte) {}
