package engine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// mapMemory returns n zeroed bytes of anonymous memory. Large pieces ask for huge pages: states are
// walked from end to end, and with small pages the walk is paid in address translation.
func mapMemory(n int) []byte {
	extra := 0
	if n >= hugePage {
		extra = hugePage
	}
	b, err := unix.Mmap(-1, 0, n+extra, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n) // the heap says what is wrong, if anything is
	}
	if extra > 0 {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // advice
		skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (hugePage - 1)
		return b[skip : skip+uintptr(n) : skip+uintptr(n)]
	}
	return b
}

// unmapMemory gives back what mapMemory returned; memory of the heap is refused by the kernel and left to the collector.
func unmapMemory(b []byte) {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	_, _, _ = unix.Syscall(unix.SYS_MUNMAP, from, uintptr(cap(b)), 0)
}
