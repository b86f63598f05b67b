package enginebench

import (
	"context"
	"fmt"
	"io"
	"os/exec"

	"github.com/rondo-db/rondo/engine/core"
)

// createSpecs bounds how many series one CreateBatch makes, and with it the memory that takes.
const createSpecs = 5000

// A Config says what load is put on which store.
type Config struct {
	Dir       string // the database folder; empty or absent
	Series    int    // rounded up to whole hosts
	Layout    Layout // how the readings are kept
	Readings  int    // readings of every series; 360 make an hour
	Appenders int    // goroutines that append, each for hosts of its own
	Depth     int    // batches an appender keeps in flight
	Seed      uint64
	Options   core.Options
	// series compared, bit for bit, with what was sent; after ingest and again after recovery
	Verify int

	// Exec returns the command that runs Child(ctx, arg, out). Nil: recovery is not measured.
	Exec func(ctx context.Context, arg string) *exec.Cmd `json:"-"`

	RecoveryProfile string // file that takes a CPU profile of the recovery; may be empty

	CPUProfile io.Writer `json:"-"` // takes a CPU profile of ingest and final checkpoint; may be nil
	MemProfile io.Writer `json:"-"` // takes a heap profile after them; may be nil
}

func (c Config) validate() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"series", c.Series}, {"readings", c.Readings}, {"appenders", c.Appenders}, {"depth", c.Depth}} {
		if n.value < 1 {
			return fmt.Errorf("bench: %s is %d, must be at least 1", n.name, n.value)
		}
	}
	return c.Layout.validate()
}
