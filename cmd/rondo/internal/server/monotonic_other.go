//go:build !linux

package server

import "time"

// monotonic is for systemd, which runs on Linux only.
func monotonic() time.Duration { return 0 }
