//go:build !unix

package wal

import "os"

// lockFile does nothing: where there is no flock the lock of the database folder has to do.
func lockFile(*os.File) error { return nil }

func unlockFile(*os.File) error { return nil }
