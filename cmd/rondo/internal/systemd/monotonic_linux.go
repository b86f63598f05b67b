package systemd

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic returns the time of the clock that systemd expects with the message Reloading, in the
// field MONOTONIC_USEC; 0 if it cannot be read.
func Monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
