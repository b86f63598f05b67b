package core

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// mapMemory returns n zeroed bytes of anonymous memory. Large pieces ask for huge pages: states are
// walked from end to end, and with small pages the walk is paid in address translation.
func mapMemory(n int) (b []byte, mapped bool) {
	extra := 0
	if n >= hugePage {
		extra = hugePage
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n+extra), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n), false // the heap says what is wrong, if anything is
	}
	if extra > 0 { // keep the aligned part
		skip := -uintptr(p) & (hugePage - 1)
		unmap(p, skip)
		unmap(unsafe.Add(p, skip+pages(n)), uintptr(extra)-skip)
		p = unsafe.Add(p, skip)
		_ = unix.Madvise(unsafe.Slice((*byte)(p), n), unix.MADV_HUGEPAGE) // advice
	}
	return unsafe.Slice((*byte)(p), n), true
}

// pages returns n rounded up to whole pages.
func pages(n int) uintptr { return uintptr(n+4095) &^ 4095 }

func unmap(p unsafe.Pointer, n uintptr) {
	if n > 0 {
		_ = unix.MunmapPtr(p, n) // nothing to be done about it
	}
}

// dropMemory gives the whole pages of b back; they are zero when they are used again.
func dropMemory(b []byte) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	skip := -uintptr(p) & 4095
	if n := (uintptr(len(b)) - skip) &^ 4095; uintptr(len(b)) > skip && n > 0 {
		_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, skip)), n), unix.MADV_DONTNEED) // memory that stays is only less free
	}
}

// unmapMemory gives back what mapMemory has mapped.
func unmapMemory(b []byte) { unmap(unsafe.Pointer(unsafe.SliceData(b)), pages(cap(b))) }
