//go:build !unix

package figures

import "time"

// ProcessorTime is unknown on this system.
func ProcessorTime() (time.Duration, bool) { return 0, false }
