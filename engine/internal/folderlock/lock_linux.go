package folderlock

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lockReaders returns the processes that hold the open file f locked to read, if the system shows
// them: a courtesy, for an error.
func lockReaders(f *os.File) (pids []int) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return nil
	}
	defer func() { _ = locks.Close() }() // it was only read
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		// 1: FLOCK  ADVISORY  READ 19948 fe:00:5309994 0 EOF
		words := strings.Fields(lines.Text())
		if len(words) < 6 || words[1] != "FLOCK" || words[3] != "READ" || words[5] != file {
			continue // also a process that waits, whose line has an arrow
		}
		if pid, err := strconv.Atoi(words[4]); err == nil && pid > 0 && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
