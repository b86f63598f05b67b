package engine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropPages unmaps the whole pages that lie within b, a piece of the database's mapping. They stay in the page cache.
func dropPages(b []byte) {
	const page = 4096
	from := (uintptr(unsafe.Pointer(unsafe.SliceData(b))) + page - 1) &^ (page - 1)
	to := (uintptr(unsafe.Pointer(unsafe.SliceData(b))) + uintptr(len(b))) &^ (page - 1)
	if from >= to {
		return
	}
	off := from - uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	_ = unix.Madvise(b[off:off+(to-from)], unix.MADV_DONTNEED) // advice
}
