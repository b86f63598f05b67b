//go:build !linux

package server

import "time"

// monotonic returns 0: only systemd needs it, which runs on Linux.
func monotonic() time.Duration { return 0 }
