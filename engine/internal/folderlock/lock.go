// Package folderlock locks the folder of a store: one process writes, or several read.
package folderlock

import "errors"

// ErrLocked says that another process has the lock. The error that wraps it names the process.
var ErrLocked = errors.New("store is locked")
