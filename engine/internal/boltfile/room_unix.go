//go:build linux || darwin || freebsd

package boltfile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Room returns how many bytes this process may still write to the disk of the folder dir.
func Room(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
