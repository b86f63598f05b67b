//go:build unix && !linux

package folderlock

import "os"

// lockReaders returns nil: the system does not show who holds a lock.
func lockReaders(*os.File) []int { return nil }
