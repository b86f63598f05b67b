package clustered

import (
	"fmt"
	"os"

	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/cluster/spool"
)

// openDetour opens the spool and the way of samples whose senders get no answer.
func (m *Member) openDetour() error {
	var s *spool.Spool
	if m.o.Spool > 0 {
		var err error
		if s, err = spool.Open(m.o.SpoolDir, spool.Options{Bytes: m.o.Spool, Logger: m.o.Logger}); err != nil {
			return fmt.Errorf("--spool: %w", err)
		}
	} else if left, _ := os.ReadDir(m.o.SpoolDir); len(left) > 0 {
		m.o.Logger.Warn("--spool is 0: what an earlier start has kept is not delivered", "dir", m.o.SpoolDir)
	}
	m.detour = detour.New(m.router, m.node, detour.Options{Spool: s, Logger: m.o.Logger})
	return nil
}

// Detour returns all partitions as an engine for samples whose senders get no answer.
func (m *Member) Detour() *detour.Detour { return m.detour }
