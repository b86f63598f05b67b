//go:build !linux

package systemd

import "time"

// Monotonic returns 0: only systemd needs it, which runs on Linux.
func Monotonic() time.Duration { return 0 }
