// Package ramtemp lets tests keep their temporary files in memory, where a sync costs nothing:
// tests that write spend most of their time in syncs. No test sees what a sync does: the power is
// cut on disks of package waltest, and what a killed process leaves is the same in memory.
package ramtemp

import "os"

const (
	folder = "/dev/shm"
	room   = 4 << 30 // bytes: containers often have 64 MiB, which tests fill
)

// Use makes folder the one of temporary files, of this process and those that it starts, if it has
// the room, programs can be run from it, and TMPDIR names no other. It returns whether it is used.
// Packages of test helpers call it before any test runs:
//
//	var _ = ramtemp.Use()
func Use() bool {
	if os.Getenv("TMPDIR") != "" || !fits() {
		return false
	}
	return os.Setenv("TMPDIR", folder) == nil
}
