package server

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns the clock that systemd wants to see in a message of a reload.
func monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
