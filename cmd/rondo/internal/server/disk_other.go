//go:build !linux && !darwin && !freebsd

package server

// diskSpace returns zeros: the space is not known.
func diskSpace(string) (free, size int64) { return 0, 0 }
