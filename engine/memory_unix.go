//go:build unix && !linux

package engine

import "golang.org/x/sys/unix"

// mapMemory returns n zeroed bytes of anonymous memory.
func mapMemory(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n) // the heap says what is wrong, if anything is
	}
	return b
}

// unmapMemory gives back what mapMemory returned; memory of the heap is refused by the kernel and left to the collector.
func unmapMemory(b []byte) { _ = unix.Munmap(b) }
