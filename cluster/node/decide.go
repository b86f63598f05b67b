package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/wal"
)

// Every decision is made here, from a view and what the node knows of its own replicas. The
// functions start tasks and write leases; they wait for nothing else.

const (
	// leadLeast is how long a node leads before it hands the lease to the preferred leader.
	leadLeast = 10 * time.Second
	// keepSpare is how long a replica stays that the map has given to others.
	keepSpare = 30 * time.Second
	// copyNotice is for how many looks others can read that a node takes a copy before it does.
	copyNotice = 3
)

// decide does what is due for all partitions, and for the map.
func (n *Node) decide(ctx context.Context) {
	n.mu.Lock()
	v := n.view
	if !v.HasMap() || n.closed {
		n.mu.Unlock()
		return
	}
	for p := range v.Map.Partitions {
		if v.Map.Partitions[p].Has(n.o.Name) && n.locals[p] == nil {
			n.locals[p] = &local{partition: p}
		}
	}
	var leases []func()
	for p, part := range v.Map.Partitions {
		if l := n.locals[p]; l != nil {
			n.takeDigest(ctx, l)
			n.follow(l, v)
			if f := n.partition(ctx, l, v, part); f != nil {
				leases = append(leases, f)
			}
		}
	}
	n.mu.Unlock()
	for _, f := range leases {
		f()
	}
	n.improve(ctx, v)
}

// follow takes in what a view says of a lease.
func (n *Node) follow(l *local, v *coord.View) {
	if read := v.Leases[l.partition]; read.Revision >= l.lease.Revision {
		l.has(read) // else this node has written it since
	}
	holder := n.holder(l, v)
	switch {
	case holder != "":
		l.free = time.Time{}
	case l.free.IsZero():
		l.free = n.o.now()
	}
}

// holder returns the live node that has the lease of a partition, or "".
func (n *Node) holder(l *local, v *coord.View) string {
	if n.mine(l) {
		return n.o.Name
	}
	if m := v.Members[l.lease.Node]; m != nil && m.Live && m.Session == l.lease.Session && m.Name != n.o.Name {
		return m.Name
	}
	return ""
}

// partition does what is due for one partition. It returns a write of a lease, to be done when n.mu
// is free, or nil.
func (n *Node) partition(ctx context.Context, l *local, v *coord.View, part placement.Partition) func() {
	now := n.o.now()
	if l.state == copying {
		n.watchCopy(l)
	}
	if l.busy != "" || now.Before(l.retry) && !n.mine(l) && !l.standing.Leads {
		return nil
	}
	n.compare(l, v, part)
	n.outdate(l)
	if l.state == open && l.standing.Halted && !l.outdated {
		l.breaks("it cannot follow the log: "+errors.Join(l.standing.Err, nil).Error(), "")
	}
	wanted := part.Has(n.o.Name)
	switch {
	case l.standing.Leads || n.mine(l) || wanted && l.state == open:
		return n.lead(ctx, l, v, part)
	case l.state == closed || l.state == copied:
		n.open(ctx, l)
	case wanted:
		n.renew(ctx, l, v)
	default:
		n.giveUp(ctx, l, v, part)
	}
	return nil
}

// outdate notes whether a replica waits for a newer program on this node. It is not copied: the
// copy would halt, too.
func (n *Node) outdate(l *local) {
	if l.replica == nil {
		return // what its last task has found holds
	}
	if l.standing.Outdated && !l.outdated {
		n.o.Logger.Error("a newer version of rondo wrote what comes next in the log, so a replica is read as it is; install that version on this node and restart it",
			"partition", l.partition, "position", uint64(l.standing.Position), "version", n.o.Version, "err", l.standing.Err)
	}
	l.outdated = l.standing.Outdated
}

// renew takes a copy of another replica, once the leader must have heard of it, so that the log is
// truncated no further. If nobody has a replica to copy, a node without one opens an empty
// replica: the log may hold everything.
func (n *Node) renew(ctx context.Context, l *local, v *coord.View) {
	from := n.source(l, v)
	if from == nil {
		if l.withoutCopy(); l.state == absent {
			n.open(ctx, l)
		}
		return
	}
	// Decisions are made when the node has announced itself.
	if l.announces(n.o.now(), (copyNotice-1)*n.o.Times.Interval) {
		n.copy(ctx, l, from)
	}
}

// source returns the node that a copy is taken from, or nil. It prefers a node that knows of no
// damage, then one whose copy did not fail last, and then one that does not lead. A node may do
// whose replica the map has given to others, perhaps to this node.
func (n *Node) source(l *local, v *coord.View) *coord.Member {
	if v.Current(l.partition, l.better) && l.better != l.shuns {
		return &v.Members[l.better].Member
	}
	var best *coord.Seen
	var worst int // of the best one: 4 for damage, 2 if its last copy failed, 1 if it leads
	for name, m := range v.Members {
		st, _ := m.Standing(l.partition)
		spare := m.Live && st.Spare && !st.Halted && st.Quarantine == ""
		if name == n.o.Name || st.Position == 0 || !spare && !v.Current(l.partition, name) {
			continue
		}
		bad := 0
		if name == l.shuns {
			bad = 2
		}
		if st.Leads {
			bad++
		}
		if st.Damaged {
			bad += 4
		}
		if best == nil || bad < worst || bad == worst && name < best.Name {
			best, worst = m, bad
		}
	}
	if best == nil {
		return nil
	}
	return &best.Member
}

// giveUp removes a replica that the map has given to others, when all of them are current. For a
// while before it says that the replica is a spare one: a change of the map that counts on it must
// have been made by then.
func (n *Node) giveUp(ctx context.Context, l *local, v *coord.View, part placement.Partition) {
	if l.state >= due {
		l.withoutCopy()
	}
	if l.state == absent || l.replica != nil && (l.spare.IsZero() || n.o.now().Sub(l.spare) < keepSpare) {
		return
	}
	if slices.ContainsFunc(part.Nodes, func(name string) bool { return !v.Current(l.partition, name) }) {
		return
	}
	n.remove(ctx, l)
}

// lead does what a lease is about: takes it, promotes, hands it on, or demotes.
func (n *Node) lead(ctx context.Context, l *local, v *coord.View, part placement.Partition) func() {
	leads := l.standing.Leads
	if !n.mine(l) {
		switch {
		case leads:
			n.demote(ctx, l, nil) // another one has the lease, or will claim it
		case n.holder(l, v) == "" && n.turn(l, v, part):
			return n.writeLease(ctx, l, n.o.Name, n.o.Session)
		}
		return nil
	}
	unfit := l.why != "" || l.standing.Halted
	resigns := n.stopping || unfit || !part.Has(n.o.Name) || v.Members[n.o.Name] != nil && v.Members[n.o.Name].Leaving
	to := n.successor(l, v, part, resigns)
	switch {
	case leads && l.term != l.lease.Term: // another node has claimed the log in between
		n.demote(ctx, l, nil)
	case leads && to != nil:
		n.demote(ctx, l, to)
	case leads && resigns && (n.stopping || unfit): // nobody can take it now
		n.demote(ctx, l, &coord.Member{})
	case leads:
		n.tend(ctx, l)
		if (l.lease.Log == "" || l.lease.Begin) && l.standing.Log != (wal.ID{}) {
			return n.nameLog(ctx, l)
		}
	case to != nil:
		return n.writeLease(ctx, l, to.Name, to.Session)
	case l.given && !resigns && l.replica != nil: // a request that is late must not give it away later
		return n.writeLease(ctx, l, n.o.Name, n.o.Session)
	case resigns && part.Has(n.o.Name) && !n.stopping && !unfit && l.replica != nil && !n.o.now().Before(l.retry):
		n.promote(ctx, l) // it leaves, and nobody else can lead
	case l.lease.Begin && !resigns && l.replica != nil && n.o.now().Before(l.retry):
		return nil // nobody else may begin the log
	case resigns || l.replica == nil || n.o.now().Before(l.retry):
		return n.writeLease(ctx, l, "", "")
	default:
		n.promote(ctx, l)
	}
	return nil
}

// seesItself reports whether a view has what this node has announced last. If not, an old view says
// that others are silent.
func (n *Node) seesItself(v *coord.View) bool {
	m := v.Members[n.o.Name]
	return m != nil && m.Session == n.o.Session && m.Silent == 0
}

// successor returns the node to hand the lease to: the preferred leader, if that can lead, or any
// other replica that can, if this node resigns.
func (n *Node) successor(l *local, v *coord.View, part placement.Partition, resigns bool) *coord.Member {
	for i, name := range part.Nodes {
		if name == n.o.Name && !resigns {
			return nil
		}
		if name != n.o.Name && v.MayLead(l.partition, name) && (resigns || i == 0 && l.ledFor(n.o.now()) >= leadLeast) {
			return &v.Members[name].Member
		}
	}
	return nil
}

// foremost reports whether no other replica would be a better leader than this node's: all replicas
// of the map live and say how far they are, and nobody is further. So it is in a new cluster. Of
// those that are equally far the first one of the map is the foremost. A replica that holds nothing
// is the foremost only if all nodes live: one that does not may have a replica that the map has
// forgotten. Nodes that are given up do not count.
func (n *Node) foremost(l *local, v *coord.View, part placement.Partition) bool {
	s := l.standing
	if l.replica == nil || !l.measured || s.Position < s.Newest {
		return false
	}
	for name, m := range v.Members {
		if givenUp(m) {
			continue
		}
		st, ok := m.Standing(l.partition)
		unknown := st.Closed && m.Live && st.Quarantine == "" // it may be further
		if name != n.o.Name && (ok && (unknown || st.Position > s.Position) || s.Position == 0 && !m.Live) {
			return false
		}
	}
	before := true // the replicas of the map that come before this node's
	for _, name := range part.Nodes {
		if name == n.o.Name {
			before = false
			continue
		}
		m := v.Members[name]
		if m != nil && givenUp(m) {
			continue
		}
		if m == nil || !m.Live {
			return false
		}
		st, ok := m.Standing(l.partition)
		usable := !st.Halted && st.Quarantine == "" && !st.Copying && !m.Stopping && !m.Leaving
		if !ok || before && usable && st.Position == s.Position {
			return false
		}
	}
	return true
}

// givenUp reports whether a node does not come back, as an operator says: it had to leave, and is
// gone. Nobody waits for what its replicas hold.
func givenUp(m *coord.Seen) bool { return m.Leaving && m.Gone }

// heldElsewhere reports whether another replica of the map holds more records than the log has, as
// far as this node knows: the log has lost them. If this one led, other records would take their
// places. An operator says which replica begins the log anew.
func (n *Node) heldElsewhere(l *local, v *coord.View, part placement.Partition) bool {
	has := max(l.standing.Position, l.standing.Newest)
	return slices.ContainsFunc(part.Nodes, func(name string) bool {
		m := v.Members[name]
		if m == nil || name == n.o.Name || !m.Live || m.Stopping || m.Leaving {
			return false
		}
		st, ok := m.Standing(l.partition)
		return ok && st.Position > has && !st.Halted && st.Quarantine == "" && !st.Copying
	})
}

// ledElsewhere reports whether another live node says that it leads a partition.
func (n *Node) ledElsewhere(l *local, v *coord.View) bool {
	for name, m := range v.Members {
		if st, ok := m.Standing(l.partition); ok && st.Leads && m.Live && name != n.o.Name {
			return true
		}
	}
	return false
}

// turn reports whether this node may take a lease that nobody has. The replica that comes first in
// the map takes it at once, the others after it, each a little later. If none is current, because
// all have been down, those that are behind take it later still: to lead, a replica applies
// what it lacks anyway.
func (n *Node) turn(l *local, v *coord.View, part placement.Partition) bool {
	if n.stopping || l.why != "" || l.standing.Err != nil || l.standing.Halted || !n.seesItself(v) {
		return false
	}
	rank, index := 0, slices.Index(part.Nodes, n.o.Name)
	if index < 0 || n.ledElsewhere(l, v) || n.heldElsewhere(l, v, part) {
		return false
	}
	for _, name := range part.Nodes[:index] {
		if v.MayLead(l.partition, name) {
			rank++
		}
	}
	wait := time.Duration(2*rank) * n.o.Times.Interval
	if !l.current && !n.foremost(l, v, part) {
		wait = 2*n.o.Times.Lease + time.Duration(2*index)*n.o.Times.Interval
	}
	if m := v.Members[n.o.Name]; m != nil && m.Leaving {
		wait += n.o.Times.Lease
	}
	return n.o.now().Sub(l.free) >= wait
}
