package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// mapPages returns n zeroed bytes of anonymous memory; mapped is false if they lie on the heap,
// because the system gave none. Pieces of hugePage bytes and more ask for huge pages: appends walk
// over states from end to end, and with small pages address translation would take most of that
// time.
func mapPages(n int) (b []byte, mapped bool) {
	extra := 0
	if n >= hugePage {
		extra = hugePage
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n+extra), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n), false // the heap reports what is wrong
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
		_ = unix.MunmapPtr(p, n) // the memory only stays mapped
	}
}

// dropPages gives the whole pages of b back to the system. Their addresses stay valid; they read as
// zero.
func dropPages(b []byte) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	skip := -uintptr(p) & 4095
	if n := (uintptr(len(b)) - skip) &^ 4095; uintptr(len(b)) > skip && n > 0 {
		_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, skip)), n), unix.MADV_DONTNEED) // advice
	}
}

// unmapPages unmaps a piece that mapPages has mapped.
func unmapPages(b []byte) { unmap(unsafe.Pointer(unsafe.SliceData(b)), pages(cap(b))) }
