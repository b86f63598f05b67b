package core_test

import "golang.org/x/sys/unix"

func mount(dir, options string, again, readOnly bool) error {
	var flags uintptr
	if again {
		flags |= unix.MS_REMOUNT
	}
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	return unix.Mount("tmpfs", dir, "tmpfs", flags, options)
}

func unmount(dir string) error { return unix.Unmount(dir, unix.MNT_DETACH) }
