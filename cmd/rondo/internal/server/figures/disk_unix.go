//go:build linux || darwin || freebsd

package figures

import "syscall"

// DiskSpace returns the bytes of the disk that holds dir, and those that are free for this process.
// It returns zeros if they are not known.
func DiskSpace(dir string) (free, size int64) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize)
}
