package chaos

import "testing"

// disks are file systems that lose what was not synced.
type disks struct{}

func newDisks(t *testing.T, dir string, seed uint64) *disks { return nil }
func (d *disks) folder(machine int) string                  { return "" }
func (d *disks) close()                                     {}
func (h *harness) disk(machine int, command string)         {}
