package server

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns the time of the clock that systemd expects in the message about a reload.
func monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
