//go:build !unix

package server

import "time"

// processorTime is unknown on this system.
func processorTime() (time.Duration, bool) { return 0, false }
