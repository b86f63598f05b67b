//go:build unix && !linux

package folderlock

import "os"

// lockHolders returns nil: the system does not show who holds a lock.
func lockHolders(*os.File) []int { return nil }
