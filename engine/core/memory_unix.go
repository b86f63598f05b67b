//go:build unix && !linux

package core

import "golang.org/x/sys/unix"

// mapMemory returns n zeroed bytes of anonymous memory.
func mapMemory(n int) (b []byte, mapped bool) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n), false // the heap says what is wrong, if anything is
	}
	return b, true
}

// unmapMemory gives back what mapMemory has mapped.
func unmapMemory(b []byte) { _ = unix.Munmap(b) }

// dropMemory may give the pages of b back; here they stay for the next who asks for as many bytes.
func dropMemory([]byte) {}
