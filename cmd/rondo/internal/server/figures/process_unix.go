//go:build unix

package figures

import (
	"syscall"
	"time"
)

// ProcessorTime returns the user and system time that the process has spent.
func ProcessorTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
