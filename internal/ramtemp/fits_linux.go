package ramtemp

import "golang.org/x/sys/unix"

// fits says whether tests may write to the folder, and run what they write.
func fits() bool {
	var st unix.Statfs_t
	if unix.Statfs(folder, &st) != nil || unix.Access(folder, unix.W_OK|unix.X_OK) != nil {
		return false
	}
	return st.Type == unix.TMPFS_MAGIC && st.Flags&unix.ST_NOEXEC == 0 && st.Bavail*uint64(st.Bsize) >= room
}
