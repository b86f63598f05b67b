package enginebench

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTime returns the CPU time, user and system, that this process has used in all its threads.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// writtenBytes returns what this process has had sent to storage (write_bytes of
// /proc/self/io): the kernel counts a page when it is dirtied, so log, database and
// a page written again after a sync all count, whole pages each time. File systems
// without storage behind them (tmpfs) count nothing.
func writtenBytes() int64 { return procNumber("/proc/self/io", "write_bytes:") }

// peakRSS returns the most memory this process has had resident since resetPeak, pages of mapped
// files included.
func peakRSS() int64 { return 1024 * procNumber("/proc/self/status", "VmHWM:") }

// anonRSS returns the memory now resident that is not pages of files.
func anonRSS() int64 { return 1024 * procNumber("/proc/self/status", "RssAnon:") }

// resetPeak lets peakRSS count from now. If the system refuses, the peak counts from the start of
// the process.
func resetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// procNumber returns the number after key in a file of /proc, or 0.
func procNumber(path, key string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		rest, ok := strings.CutPrefix(s.Text(), key)
		if !ok {
			continue
		}
		if f := strings.Fields(rest); len(f) > 0 {
			n, _ := strconv.ParseInt(f[0], 10, 64) // a line of the kernel's; 0 if it is something else
			return n
		}
	}
	return 0
}

// diskBytes returns the blocks that the files of dir take, in bytes.
func diskBytes(dir string) (int64, error) {
	var n int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
			n += int64(st.Blocks) * 512
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", dir, err)
	}
	return n, nil
}
