package node

import (
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
)

// Leads returns nil if the replica of a partition on this node leads, and no other node may have
// begun to lead. What it does not have, then, nobody has. Otherwise the error wraps
// core.ErrNotLeader.
//
// A replica that leads learns only with its next write that another one leads. The other one took
// the lease only after this node had been silent for Times.Lease. So a lease counts for that long
// from when the node began its last announcement, if it has read that, and then the lease as its
// own. natskv reads nothing that is older than what it has read before.
func (n *Node) Leads(partition int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.locals[partition]
	switch {
	case l == nil || l.state != open || !l.replica.Standing().Leads || !n.holdsLease(l) || l.given || l.term != l.lease.Term:
		return fmt.Errorf("node %s and partition %d: %w", n.o.Name, partition, core.ErrNotLeader)
	case !n.o.now().Before(n.holds):
		return fmt.Errorf("node %s does not see whether another one leads partition %d: %w", n.o.Name, partition, core.ErrNotLeader)
	}
	return nil
}

// holdsLease reports whether this node has the lease of a partition, and nothing that was read says
// that another node may have had it since. n.mu is held.
func (n *Node) holdsLease(l *local) bool {
	return n.mine(l) && !n.replaced(l)
}

// replaced reports whether the newest view shows another holder of a lease than l knows yet. n.mu
// is held.
func (n *Node) replaced(l *local) bool {
	return l.partition < len(n.view.Leases) && n.view.Leases[l.partition].Revision > l.lease.Revision
}
