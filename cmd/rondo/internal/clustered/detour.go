package clustered

import (
	"fmt"
	"os"

	"github.com/rondo-db/rondo/cluster/detour"
)

// openDetour opens the way of samples whose senders get no answer.
func (m *Member) openDetour() (err error) {
	if left, _ := os.ReadDir(m.o.SpoolDir); m.o.Spool == 0 && len(left) > 0 {
		m.o.Logger.Warn("--spool is 0: what an earlier start has kept is not delivered", "dir", m.o.SpoolDir)
	}
	m.detour, err = detour.New(m.router, m.node, detour.Options{Dir: m.o.SpoolDir, Bytes: m.o.Spool, Logger: m.o.Logger})
	if err != nil {
		return fmt.Errorf("--spool: %w", err)
	}
	return nil
}

// Detour returns all partitions as an engine for samples whose senders get no answer.
func (m *Member) Detour() *detour.Detour { return m.detour }
