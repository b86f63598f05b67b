package boltfile

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

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

// dropRange unmaps size bytes of the mapping from address from on. An open transaction keeps the
// mapping in place.
func dropRange(from, size uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, size&^4095, unix.MADV_DONTNEED) // advice
}
