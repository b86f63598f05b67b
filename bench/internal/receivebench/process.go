package receivebench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTimes returns the processor time that this process has used in all its threads.
func cpuTimes() (user, system time.Duration) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0
	}
	return time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
}

// ticks is how many of /proc's units of processor time make a second: USER_HZ, the same on every
// Linux.
const ticks = 100

// ProcessTimes returns the processor time that another process has used, in hundredths of a second.
func ProcessTimes(pid int) (user, system time.Duration, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	// The second field is the program's name in parentheses, blanks and all; the 14th and 15th are
	// the times.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0, 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(f))
	}
	var t [2]time.Duration
	for i := range t {
		n, err := strconv.ParseInt(f[11+i], 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		t[i] = time.Duration(n) * time.Second / ticks
	}
	return t[0], t[1], nil
}

// processPeak returns the most memory that a process has had resident; pid 0: this one.
func processPeak(pid int) int64 {
	name := "self"
	if pid != 0 {
		name = strconv.Itoa(pid)
	}
	b, err := os.ReadFile("/proc/" + name + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kB int64
			_, _ = fmt.Sscan(rest, &kB) // a line of the kernel's; 0 if it is something else
			return kB << 10
		}
	}
	return 0
}

// socketDrops returns how many datagrams the kernel has dropped at the UDP socket of a local port,
// the newest one of that port.
func socketDrops(port int) (uint64, error) {
	b, err := os.ReadFile("/proc/net/udp")
	if err != nil {
		return 0, err
	}
	local := fmt.Sprintf(":%04X", port)
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 13 || !strings.HasSuffix(f[1], local) {
			continue
		}
		return strconv.ParseUint(f[len(f)-1], 10, 64)
	}
	return 0, fmt.Errorf("/proc/net/udp has no socket of port %d", port)
}
