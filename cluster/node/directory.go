package node

import (
	"context"
	"fmt"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// Partitions returns how many partitions the cluster has; 0: there is no cluster yet, or it was not
// seen yet.
func (n *Node) Partitions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.view == nil {
		return 0
	}
	return len(n.view.Map.Partitions)
}

// Wait waits until the node knows the map of partitions. The error is ctx's.
func (n *Node) Wait(ctx context.Context) error {
	for {
		n.mu.Lock()
		known, again := n.view != nil && n.view.HasMap(), n.looked
		n.mu.Unlock()
		if known {
			return nil
		}
		select {
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// View returns what the node has seen last, or nil. Do not change it.
func (n *Node) View() *coord.View {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.view
}

// Log returns the identity of the log of a partition, and whether the replica here is to begin that
// log anew behind what it holds, because an operator has said so. The identity is zero if neither
// the lease nor the replica names one.
//
// after is the newest position that any part of the replica holds. If the whole replica is not that
// far, as after a crash during a checkpoint, it needs the records in between: the log is not begun.
func (n *Node) Log(partition int, after wal.Pos) (id wal.ID, anew bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.locals[partition]
	if l == nil || n.view == nil || partition >= len(n.view.Map.Partitions) {
		return id, false, nil
	}
	anew = l.lease.Begin && n.mine(l) && l.standing.Position > 0 && after <= l.standing.Position
	if l.lease.Log == "" {
		return l.standing.Log, anew && l.standing.Log != wal.ID{}, nil
	}
	if id, err = wal.ParseID(l.lease.Log); err != nil {
		return id, false, fmt.Errorf("the lease of partition %d: %w: %w", partition, core.ErrDamaged, err)
	}
	return id, anew, nil
}

// Local returns the replica of a partition on this node, if it is open.
func (n *Node) Local(partition int) (Replica, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.locals[partition]
	if l == nil || l.replica == nil {
		return nil, false
	}
	return l.replica, true
}

// Leader returns the partition as its leader has it: here, or on another node. It waits while
// nobody leads; when ctx ends the error wraps core.ErrUnavailable. Another node may lead by the
// time the partition is used: then it is refused.
func (n *Node) Leader(ctx context.Context, partition int) (core.Engine, error) {
	return n.find(ctx, partition, func() (core.Engine, *coord.Member) {
		if l := n.locals[partition]; l != nil && l.state == open && l.replica.Standing().Leads {
			return l.replica.Engine(), nil
		}
		m := n.view.Leader(partition)
		if m == nil || m.Name == n.o.Name {
			return nil, nil
		}
		if st, ok := m.Standing(partition); ok && st.Leads {
			return nil, &m.Member
		}
		return nil, nil
	})
}

// Reader returns a partition for reading: the replica here if that is current, or else one of
// another node, which may be the leader. One that knows of damage comes last. Reader waits for a
// current replica as Leader does. While the store takes no announcements, not even this node's,
// silence says nothing: a node counts that was current when it was heard last, and whose process is
// not known to have ended.
func (n *Node) Reader(ctx context.Context, partition int) (core.Engine, error) {
	return n.find(ctx, partition, func() (core.Engine, *coord.Member) {
		var nodes []string
		if partition < len(n.view.Map.Partitions) {
			nodes = n.view.Map.Partitions[partition].Nodes
		}
		l := n.locals[partition]
		for _, damaged := range []bool{false, true} {
			if l != nil && l.state == open && l.current && l.replica.Standing().Damaged == damaged {
				return l.replica.Engine(), nil
			}
			for _, name := range nodes {
				if name == n.o.Name || !n.view.Current(partition, name) {
					continue
				}
				m := n.view.Members[name]
				if st, _ := m.Standing(partition); st.Damaged == damaged {
					return nil, &m.Member
				}
			}
		}
		if !n.unheard() {
			return nil, nil
		}
		for _, name := range nodes {
			if m := n.view.Members[name]; m != nil && name != n.o.Name && m.SaysCurrent(partition) && !n.hasEnded(m) {
				return nil, &m.Member
			}
		}
		return nil, nil
	})
}

// unheard reports whether this node has fallen silent to the others, as far as it can read: it
// runs, so the store does not take its announcements. n.mu is held.
func (n *Node) unheard() bool {
	m := n.view.Members[n.o.Name]
	return m != nil && m.Session == n.o.Session && !m.Live
}

// hasEnded reports whether the process of a member is known to have ended. n.mu is held.
func (n *Node) hasEnded(m *coord.Seen) bool {
	s := n.suspects[m.Name]
	return s != nil && s.session == m.Session && s.ended
}

// find calls look, with n.mu held, until it finds a partition here or a node that has it.
func (n *Node) find(ctx context.Context, partition int, look func() (core.Engine, *coord.Member)) (core.Engine, error) {
	for {
		n.mu.Lock()
		var here core.Engine
		var there *coord.Member
		if n.view != nil && !n.closed {
			here, there = look()
		}
		again := n.looked
		n.mu.Unlock()
		switch {
		case here != nil:
			return here, nil
		case there != nil:
			e, err := n.o.Peers.Partition(*there, partition)
			if err != nil {
				return nil, fmt.Errorf("partition %d on node %s: %w: %w", partition, there.Name, core.ErrUnavailable, err)
			}
			return e, nil
		}
		select {
		case <-again:
		case <-ctx.Done():
			return nil, fmt.Errorf("partition %d has no replica that can be used: %w: %w", partition, core.ErrUnavailable, ctx.Err())
		}
	}
}

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
